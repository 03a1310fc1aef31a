package fleet_test

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/toolhost/toolhost/internal/test/natstest"
)

// bubble runs a test at a site in a bubble of testing/synctest.
func bubble(t *testing.T, test func(*testing.T, *site)) {
	t.Helper()
	key := newKey(t)
	natstest.Bubble(t, func(t *testing.T, s *server.Server) {
		test(t, &site{key: key, url: "nats://in.memory", pipes: s})
	}, &server.NkeyUser{Nkey: key.Public()})
}
