package roster

import (
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A closed roster does not make a directory, as nothing would remove it.
func TestClosedRosterMakesNoSocketDirectory(t *testing.T) {
	t.Parallel()
	r := require.Must(New(Options{Plugin: pluginrun.Config{Logger: hclog.NewNullLogger()}}, nil))(t)
	require.NoError(t, r.Close(t.Context()))
	dir, err := r.sockets.path("late")
	if tool.CodeOf(err) != tool.CodeUnavailable || dir != "" || r.sockets.current() != "" {
		t.Errorf("made %q, error %v", dir, err)
	}
}
