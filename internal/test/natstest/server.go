package natstest

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// Start starts a server of this process that lets users log in, and returns its URL. It ends with the test.
func Start(t testing.TB, users ...*server.NkeyUser) (url string) {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, Nkeys: users})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Shutdown)
	return s.ClientURL()
}
