package plugin_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/hostile"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A plugin that has other tools each time that it is asked, and says so without end, is
// asked the less often the longer it takes the host to make something of them.
func TestChangesArePacedByTheirCost(t *testing.T) {
	t.Parallel()
	const cost = 100 * time.Millisecond
	var taken atomic.Int64
	fourth := make(chan struct{})
	p := open(t, hostile.Fickle, func(cfg *plugin.Config) {
		cfg.Changed = func() {
			time.Sleep(cost) // as compiling what it describes does
			if taken.Add(1) == 4 {
				close(fourth)
			}
		}
	})
	tools, err := p.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	// Each of three pauses is as long as the machine is slow, and a minute at most.
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute+ceiling)
	defer cancel()
	if _, err := tools[0].Handler(ctx, tool.Call{ID: "1", Name: hostile.Tool}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-fourth:
	case <-ctx.Done():
		t.Fatalf("it was asked %d times", taken.Load())
	}
	if took := time.Since(begin); took < 3*10*cost {
		t.Errorf("four changes that took %v each came within %v", cost, took)
	}
}
