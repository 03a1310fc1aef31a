package tooltest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tooltest"
)

// failures is a test of which the failures are looked at.
type failures struct {
	testing.TB
	text strings.Builder
}

func (f *failures) Helper()                        {}
func (f *failures) Errorf(format string, a ...any) { fmt.Fprintf(&f.text, format, a...) }
func (f *failures) Error(a ...any)                 { fmt.Fprint(&f.text, a...) }

func TestGolden(t *testing.T) {
	t.Setenv("TOOLTEST_UPDATE", "")
	file := filepath.Join(t.TempDir(), "testdata", "tools.json")
	golden := func(describe, most string) string {
		type in struct {
			A, B, C, D, E, F, G, H string
			N                      int `json:"n"`
		}
		f := &failures{TB: t}
		tooltest.Golden(f, newSet(t, pluginsdk.Func("t", describe, func(context.Context, in) (string, error) { return "", nil },
			pluginsdk.Argument("n", `{"maximum":`+most+`}`))), file)
		return f.text.String()
	}
	assert.Containsf(t, golden("Does.", "5"), "there is no "+file+": run the test with TOOLTEST_UPDATE=1", "without a file")
	t.Setenv("TOOLTEST_UPDATE", "1")
	assert.Equalf(t, golden("Does.", "5"), "", "writing it")
	t.Setenv("TOOLTEST_UPDATE", "")
	assert.Equalf(t, golden("Does.", "5"), "", "nothing has changed")
	got := golden("Does more <b>.", "6")
	for _, want := range []string{
		"the definitions are not those in " + file + "; run the test with TOOLTEST_UPDATE=1 if they should be:\n",
		"-     \"description\": \"Does.\",\n+     \"description\": \"Does more <b>.\",\n", "\n  ...\n", "-           \"maximum\": 5\n+           \"maximum\": 6\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
	if n := strings.Count(got, "\n"); n > 25 {
		t.Errorf("%d lines for two:\n%s", n, got)
	}
	text := require.Must(os.ReadFile(file))(t)
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "\n", "\r\n")), 0o600))
	assert.Equalf(t, golden("Does.", "5"), "", "other ends of lines")
}
