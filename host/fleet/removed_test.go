package fleet_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A peer that is removed on either side is let go: its tools go and no call begins, but what runs ends as if nothing
// had happened. It is back once it is trusted again.
func TestRemovedPeer(t *testing.T) {
	t.Parallel()
	for name, byCaller := range map[string]bool{"where the tool is": false, "where the caller is": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keyA, keyB := newKey(t), newKey(t)
			s := siteOf(t, keyA, keyB)
			knows := func(self string, own, other fleet.Key) (with, without fleet.Config) {
				without = fleet.Config{URL: s.URL(), Key: own, Name: self, Share: []string{"*"}, Mount: []string{"*"}}
				with = without
				with.Peers = map[string]fleet.Peer{"peer": {Key: other.Public()}}
				return with, without
			}
			withA, withoutA := knows("a", keyA, keyB)
			withB, withoutB := knows("b", keyB, keyA)
			begun, goOn := make(chan struct{}), make(chan struct{})
			b := join(t, withB, says("who", "b"), handler("wait", func(context.Context, tool.Call) (tool.Result, error) {
				close(begun)
				<-goOn
				return tool.Text("waited"), nil
			}))
			a := join(t, withA)
			a.text(t, "who")
			ended := make(chan host.Outcome, 1)
			go func() {
				ended <- a.Call(t.Context(), tool.Call{Name: "wait", Arguments: json.RawMessage("{}")})
			}()
			<-begun
			remover, with, without, there := b, withB, withoutB, a
			if byCaller {
				remover, with, without, there = a, withA, withoutA, b
			}
			require.NoError(t, remover.Fleet.Reconfigure(without))
			require.Eventually(t, "an end of its tools", func() bool { return !a.has("who") && !a.has("wait") })
			require.Eventually(t, "what is told of it", func() bool {
				other, self := there.Hosts()[1], remover.Hosts()[1]
				return other.State == fleet.HostRefused && strings.Contains(other.Reason, "add it under nats.peers there") &&
					self.State == fleet.HostDraining && strings.Contains(self.Reason, "its key is not known here")
			})
			select {
			case out := <-ended:
				t.Fatalf("the call has ended with the trust: %+v", out)
			default:
			}
			close(goOn)
			if out := <-ended; !out.Success || out.Content != "waited" {
				t.Errorf("got %+v", out)
			}
			require.Eventually(t, "an end of the host", func() bool { return remover.state(there.Hosts()[0].Name) != fleet.HostDraining })
			require.NoError(t, remover.Fleet.Reconfigure(with))
			assert.Equal(t, a.text(t, "who"), "b")
		})
	}
}
