package plugin

import (
	"testing"

	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/wire"
)

// Other needs are another description, and the same ones are not.
func TestNeedsCountInADescription(t *testing.T) {
	t.Parallel()
	var p published
	for i, c := range []struct {
		needs   *tool.Needs
		changed bool
	}{
		{nil, false}, {nil, false}, {&tool.Needs{}, true}, {&tool.Needs{}, false},
		{&tool.Needs{Net: []string{"a.example:1"}}, true}, {&tool.Needs{Net: []string{"a.example:1"}}, false}, {nil, true},
	} {
		if got := p.store(wire.Description{Name: "p", Needs: c.needs}); got != c.changed {
			t.Errorf("%d: %v: changed is %v", i, c.needs, got)
		}
	}
}
