package roster

import (
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A closed roster does not make a directory, as nothing would remove it.
func TestClosedRosterMakesNoSocketDirectory(t *testing.T) {
	t.Parallel()
	r, err := New(Options{Plugin: plugin.Config{Logger: hclog.NewNullLogger()}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir, err := r.sockets.path("late")
	if tool.CodeOf(err) != tool.CodeUnavailable || dir != "" || r.sockets.current() != "" {
		t.Errorf("made %q, error %v", dir, err)
	}
}
