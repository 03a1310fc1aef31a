package embedded_test

import (
	"context"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/embedded"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Two servers do not store in one directory; the second may when the first has ended.
func TestOneStore(t *testing.T) {
	t.Parallel()
	key := require.Must(fleet.NewKey())(t)
	c := embedded.Config{Keys: []string{key.Public()}, StoreDir: t.TempDir()}
	for range 2 {
		one := require.Must(embedded.Start(c))(t)
		second, err := embedded.Start(c)
		if e := tool.AsError(err); second != nil || tool.CodeOf(err) != tool.CodeUnavailable || !strings.Contains(e.OperatorHint, "nats.store") {
			t.Errorf("the second: %v", err)
		}
		require.NoError(t, one.Close(context.Background()))
	}
}
