package setting

import (
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
)

func TestDurations(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]time.Duration{
		"10m": 10 * time.Minute, "1h": time.Hour, "1h30m": 90 * time.Minute, "30s": 30 * time.Second, "100ms": 100 * time.Millisecond,
	} {
		assert.Equal(t, Duration(d), want)
	}
}
