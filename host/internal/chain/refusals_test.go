package chain_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/internal/share"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type recorded struct {
	mu    sync.Mutex
	lines []audit.Record
}

func (r *recorded) Write(line audit.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
	return nil
}

// The first refusal of a caller is on record at once, those that follow by the second, and the last when
// the host ends.
func TestRefusalsHaveALineASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log recorded
		refusals := &chain.Refusals{Audit: &chain.Audit{Sink: &log, OnError: func(err error) { t.Error(err) }}}
		release := make(chan struct{})
		run := chain.Admit(share.NewPool(4), refusals)(func(context.Context, tool.Call) (tool.Result, error) {
			<-release
			return tool.Result{}, nil
		})
		call := func(caller string) error {
			c := &chain.Caller{Name: caller, Key: caller}
			_, err := run(chain.WithTrace(t.Context(), &chain.Trace{Caller: c}), tool.Call{Name: "x"})
			return err
		}
		ended := make(chan error, 3)
		defer close(release)
		for _, caller := range []string{"alice", "alice", "bob"} { // of four places; alice leaves two, and bob one
			go func() { ended <- call(caller) }()
			synctest.Wait()
		}
		expect := func(when string, counts ...int) {
			t.Helper()
			log.mu.Lock()
			defer log.mu.Unlock()
			var got []int
			for _, line := range log.lines {
				got = append(got, line.Refusals)
				if line.Event != audit.End || line.Caller != "alice" || line.Tool != "x" || line.Code != tool.CodeResourceExhausted || line.Message == "" {
					t.Errorf("on record is %+v", line)
				}
			}
			if len(got) != len(counts) {
				t.Fatalf("%s: the lines stand for %d, want %d", when, got, counts)
			}
			for i := range got {
				if got[i] != counts[i] {
					t.Fatalf("%s: the lines stand for %d, want %d", when, got, counts)
				}
			}
		}
		for range 10 {
			if err := call("alice"); tool.CodeOf(err) != tool.CodeResourceExhausted {
				t.Errorf("a call without a place: %v", err)
			}
		}
		expect("at once", 1)
		time.Sleep(1500 * time.Millisecond) // in the bubble's time
		expect("after a second", 1, 9)
		_ = call("alice")
		if all := refusals.Now(); len(all) != 1 || all[0].Caller != "alice" || all[0].Calls != 11 {
			t.Errorf("refused are %+v", all)
		}
		refusals.Close()
		expect("at the end", 1, 9, 1)
		for range cap(ended) {
			release <- struct{}{}
			if err := <-ended; err != nil {
				t.Errorf("a call with a place: %v", err)
			}
		}
		go func() { release <- struct{}{} }()
		if err := call("alice"); err != nil {
			t.Errorf("after that: %v", err)
		}
		time.Sleep(time.Minute)
		if all := refusals.Now(); len(all) != 0 {
			t.Errorf("refused are %+v", all)
		}
	})
}
