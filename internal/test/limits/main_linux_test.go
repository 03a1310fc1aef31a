package limits_test

import (
	"os"
	"testing"

	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/wire"
)

// hostVariable makes this binary the host.
const hostVariable = "TOOLHOST_TEST_LIMITS_HOST"

func TestMain(m *testing.M) {
	if os.Getenv(hostVariable) != "" && os.Getenv(wire.CookieKey) == "" {
		beHost()
		return
	}
	plugintest.Main(m, map[plugintest.Mode]func(){taker: take, neighbour: beNeighbour})
}
