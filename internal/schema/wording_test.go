package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// TestAuthorsWords checks that an error has the author's words for what a value has to be.
func TestAuthorsWords(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("w", 300)
	for _, c := range []struct{ f, value, want string }{
		{`{"type":"string","pattern":"^[^/]","errorMessage":"paths are relative to the workspace"}`, `"/x"`, `paths are relative to the workspace, got "/x"`},
		{`{"type":"string","pattern":"^[^/]","errorMessage":"paths are relative"}`, `1`, `expected string, got integer`},
		{`{"pattern":"^[^/]","maxLength":3,"errorMessage":{"pattern":"no slash in front"}}`, `"/x"`, `no slash in front, got "/x"`},
		{`{"pattern":"^[^/]","maxLength":3,"errorMessage":{"pattern":"no slash in front"}}`, `"long"`, `is too long: 4 characters, at most 3`},
		{`{"enum":["a"],"errorMessage":"` + long + `"}`, `"b"`, long[:200] + `..., got "b"`},
		{`{"minimum":1,"errorMessage":"one\ntwo"}`, `0`, `one, got 0`},
		{`{"minimum":1,"errorMessage":7}`, `0`, `0 is too small, at least 1`},
		{`{"pattern":"^[^/]","description":"A path.\nMore."}`, `"/x"`, `"/x" does not match the pattern ^[^/] (A path.)`},
		{`{"pattern":"^[^/]"}`, `"/x"`, `"/x" does not match the pattern ^[^/]`},
		{`{"format":"uri"}`, `"x"`, `"x" is not an absolute URI such as https://example.com/`},
		{`{"format":"ipv4"}`, `"x"`, `"x" is not an IPv4 address`},
	} {
		err := mustInput(t, object(`"f":`+c.f, ``)).Check(t.Context(), []byte(`{"f":`+c.value+`}`))
		if want := "invalid value for f: " + c.want; err == nil || err.Error() != want {
			t.Errorf("%s:\n%v\nwant %s", c.f, err, want)
		}
	}
}

// TestFormatsHaveWords checks that every format that is judged has words of its own.
func TestFormatsHaveWords(t *testing.T) {
	t.Parallel()
	var without []string
	for name := range jsonschema.Formats {
		if formats[name] == "" {
			without = append(without, name)
		}
	}
	if slices.Sort(without); len(without) > 0 {
		t.Errorf("no words for %q", without)
	}
}
