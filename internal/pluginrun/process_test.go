package pluginrun

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
)

// A process that is killed and does not end, as a file system holds it, is not
// waited for.
func TestUnkillableProcessIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := talker(io.Discard)
		p.setPID(1 << 30) // not in use
		begin := time.Now()
		p.kill()
		<-p.exited
		assert.Equalf(t, time.Since(begin), killGrace, "waited")
		if !p.exit.Stuck || !strings.Contains(p.exit.Error(), "does not let it end") {
			t.Errorf("ended with %v", p.exit)
		}
	})
}
