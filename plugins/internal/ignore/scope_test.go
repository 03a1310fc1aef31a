package ignore

import (
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
)

func TestScope(t *testing.T) {
	t.Parallel()
	git := func(dir, content string) Set { return Set{Rules: Parse(dir, []byte(content)), Git: true} }
	other := func(dir, content string) Set { return Set{Rules: Parse(dir, []byte(content))} }
	var none *Scope
	top := none.Below([]Set{git(".", "*.log\n/out"), other(".", "!keep.log")}, true)
	sub := top.Below([]Set{git("sub", "keep.log"), {}}, false)
	module := top.Below([]Set{{Git: true}, {}}, true)
	for _, c := range []struct {
		name  string
		scope *Scope
		path  string
		want  bool
	}{
		{"no rules", none, "a.log", false},
		{"by the first kind", top, "a.log", true},
		{"by a path", top, "out", true},
		{"a later kind has precedence", top, "keep.log", false},
		{"whichever directory it is in", sub, "sub/keep.log", false},
		{"rules hold below", sub, "sub/a.log", true},
		{"but not paths", sub, "sub/out", false},
		{"git's end at a repository", module, "module/a.log", false},
		{"and no other's", module, "module/keep.log", false},
	} {
		assert.Equalf(t, c.scope.Ignored(c.path, false), c.want, "%s: %s is ignored", c.name, c.path)
	}
}
