package pluginrun

import (
	"testing"
	"testing/synctest"
)

// It ends by itself, and with all its goroutines.
func TestWarm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if !warm() {
			t.Error("no request was sent")
		}
	})
}
