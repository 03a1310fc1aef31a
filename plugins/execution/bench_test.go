package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// What eval_form takes on this module once it is warm: a small expression, each time
// another one, in the scratch package that is its default, and in one of its largest
// packages.
func BenchmarkEval(b *testing.B) {
	root := require.Must(filepath.Abs("../.."))(b)
	for _, c := range []struct{ name, pkg, form string }{
		{"scratch", "", "1 + %d"}, {"tool", "./pluginsdk/tool", "len(safetyNames) + %d"}, {"host", "./host", "maxChoices + %d"},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := open(b, root, "")
			i := 0
			run := func() {
				i++
				p.must(b, fmt.Sprintf(c.form, i), c.pkg)
			}
			run()
			for b.Loop() {
				run()
			}
		})
	}
}
