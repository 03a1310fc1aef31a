package mcpclient

import "testing"

// Servers answer a ping in some way, over each transport in both eras, and go on.
func TestPing(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, l *link, _ *watched, _ *busyServer, way string) {
		ctx := within(t)
		if err := l.Ping(ctx); ctx.Err() != nil {
			t.Errorf("%s: no answer: %v", way, err)
		}
		if _, err := l.list(ctx); err != nil {
			t.Errorf("%s: it does not go on: %v", way, err)
		}
	})
}
