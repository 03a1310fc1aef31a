package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Calls share the pipe to a program, each gets its own answer, in whatever order and however often they come, and
// all that are open end with the program.
func TestCallsShareThePipe(t *testing.T) {
	t.Parallel()
	const callers = 64
	type asked struct {
		id, arguments json.RawMessage
	}
	came := make(chan asked, callers)
	l, _, s := mountRaw(t, upstream(t, nil), func(s *rawServer) {
		listsOne(s, func(id, params json.RawMessage) {
			var p struct{ Arguments json.RawMessage }
			_ = json.Unmarshal(params, &p)
			came <- asked{id, p.Arguments}
		})
	})
	call := func(n int) (tool.Result, error) {
		return l.Execute(within(t), tool.Call{Name: "srv.t", Arguments: fmt.Appendf(nil, `{"n":%d}`, n)})
	}
	var all sync.WaitGroup
	for n := range callers {
		all.Go(func() {
			res, err := call(n)
			if want := fmt.Sprintf(`{"n":%d}`, n); err != nil || string(res.Structured) != want {
				t.Errorf("call %d: %s, %v", n, res.Structured, err)
			}
		})
	}
	var open []asked
	for range callers {
		open = append(open, <-came)
	}
	slices.Reverse(open)
	s.result(json.RawMessage(`7777777777`), `{"content":[]}`)
	for _, a := range open {
		for range 2 {
			s.result(a.id, `{"content":[],"structuredContent":`+string(a.arguments)+`}`)
		}
	}
	all.Wait()
	for n := range callers {
		all.Go(func() {
			if _, err := call(n); tool.CodeOf(err) != tool.CodeCrashed {
				t.Errorf("a call whose server ends: %v", err)
			}
		})
	}
	for range callers {
		<-came
	}
	require.NoError(t, s.conn.Close())
	all.Wait()
}

// A call of a program's tool is encoded and decoded once: the SDK's client takes 32 KiB for each time.
func TestCallAllocatesLittle(t *testing.T) { //nolint:paralleltest // it counts what is allocated
	l, _, _ := mountRaw(t, upstream(t, nil), func(s *rawServer) {
		listsOne(s, func(id, _ json.RawMessage) { s.result(id, `{"content":[{"type":"text","text":"hi"}]}`) })
	})
	const calls = 200
	var before, after runtime.MemStats
	for i := range calls + 1 {
		if i == 1 {
			runtime.ReadMemStats(&before)
		}
		execute(t, l, context.Background(), "srv.t", `{"text":"hi"}`)
	}
	runtime.ReadMemStats(&after)
	if got, most := (after.TotalAlloc-before.TotalAlloc)/calls, uint64(24<<10); got > most {
		t.Errorf("a call allocates %d bytes, more than %d", got, most)
	}
}
