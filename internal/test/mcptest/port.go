package mcptest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// FreePort returns a port on which no program listens, of those that the system gives to none by
// itself: another that is closed may be another program's before it is used.
func FreePort(t testing.TB) int {
	t.Helper()
	for range 100 {
		port := 20_000 + rand.IntN(10_000) //nolint:gosec // not a secret
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}
