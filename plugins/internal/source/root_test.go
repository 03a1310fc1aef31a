package source

import (
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
)

func TestScrub(t *testing.T) {
	t.Parallel()
	root := Root("/home/me/m")
	for text, want := range map[string]string{
		"/home/me/m/a.go:1:2: bad":                     "a.go:1:2: bad",
		"# m\n./a.go:3: x\n\tsee /usr/lib/go/src/a.go": "# m ./a.go:3: x see a.go",
		"see https://go.dev/ref/spec":                  "see https://go.dev/ref/spec",
		"in /home/me/m":                                "in m",
		`open "/etc/passwd": no`:                       `open "passwd": no`,
		"a/b and net/http":                             "a/b and net/http",
	} {
		assert.Equalf(t, root.Scrub(text), want, "%q became", text)
	}
}
