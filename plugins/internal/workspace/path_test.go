package workspace

import (
	"errors"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		".": ".", "a": "a", "./a": "a", "a/": "a", "a//b": "a/b", "a/../b": "b", "a/..": ".",
		"..a": "..a", "...": "...", "a/b/../../c": "c", "with space": "with space", "ünï": "ünï",
	} {
		if got, err := Clean(given); got != want || err != nil {
			t.Errorf("Clean(%q) = %q, %v; want %q", given, got, err, want)
		}
	}
}

func TestCleanRefusesEscapes(t *testing.T) {
	t.Parallel()
	for _, given := range []string{"..", "../x", "a/../..", "a/../../x", "/", "/etc/passwd", "//x", "./../x"} {
		_, err := Clean(given)
		wantEscape(t, err, given)
	}
	_, err := Clean("../x")
	if want := "path escapes the workspace: ../x (use a path relative to the workspace root)"; err.Error() != want {
		t.Errorf("text = %q, want %q", err, want)
	}
}

func TestCleanRefusesWhatIsNoPath(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":         "the path is empty",
		"a\x00b":   `NUL character: "a\x00b"`,
		"a\xffb":   `not valid UTF-8: "a\xffb"`,
		"..\x00/x": "NUL character",
	} {
		_, err := Clean(given)
		wantError(t, err, want)
		if e := (*tool.Error)(nil); errors.As(err, &e) {
			t.Errorf("Clean(%q) gives a coded error: %v", given, err)
		}
	}
}

func TestErrorsAreOneShortLine(t *testing.T) {
	t.Parallel()
	for _, given := range []string{"../" + strings.Repeat("ä", 5000), "../a\nb", "../\x1b[31m", "../ "} {
		_, err := Clean(given)
		if text := err.Error(); strings.ContainsAny(text, "\n\x1b") || len(text) > 500 || strings.Contains(text, "\uFFFD") {
			t.Errorf("text = %q", text)
		}
	}
}
