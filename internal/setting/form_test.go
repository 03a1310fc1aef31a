package setting

import (
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]time.Duration{
		"10m": 10 * time.Minute, "1h": time.Hour, "1h30m": 90 * time.Minute, "30s": 30 * time.Second, "100ms": 100 * time.Millisecond,
	} {
		if got := Duration(d); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
