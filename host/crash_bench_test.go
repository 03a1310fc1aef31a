package host_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/fixture"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func loaded(b *testing.B, mode plugintest.Mode) *host.Host {
	b.Helper()
	dir := plugintest.Dir(b, mode)
	h := require.Must(host.New(host.WithRoot(b.TempDir()), host.WithDefaults(func(all *plugin.Settings) {
		all.StartTimeout = ceiling
		all.Restart = plugin.RestartPolicy{Free: -1}
	})))(b)
	b.Cleanup(func() { _ = h.Close(context.Background()) })
	require.Must(h.Load(b.Context(), dir))(b)
	return h
}

// From the SIGKILL of a plugin to its caller's error, and from there to the next
// call's success.
func BenchmarkCrash(b *testing.B) {
	h := loaded(b, plugintest.Crasher)
	var toError, toSuccess time.Duration
	n := 0
	for b.Loop() {
		n++
		failed := make(chan tool.Code, 1)
		go func() {
			_, err := h.Execute(b.Context(), tool.Call{Name: "crash.wait"})
			failed <- tool.CodeOf(err)
		}()
		for h.Plugins()[0].Calls == 0 {
			time.Sleep(100 * time.Microsecond)
		}
		killed := time.Now()
		require.NoError(b, syscall.Kill(h.Plugins()[0].PID, syscall.SIGKILL))
		if code := <-failed; code != tool.CodeCrashed {
			b.Fatal(code)
		}
		told := time.Now()
		if out := h.Call(b.Context(), tool.Call{Name: "crash.pid"}); !out.Success {
			b.Fatal(out.Content)
		}
		toError += told.Sub(killed)
		toSuccess += time.Since(killed)
	}
	b.ReportMetric(float64(toError.Microseconds())/float64(n)/1000, "ms-to-error")
	b.ReportMetric(float64(toSuccess.Microseconds())/float64(n)/1000, "ms-to-success")
}

// From the caller's cancel to the end of the handler's context, as a second call
// to the plugin reports it.
func BenchmarkCancel(b *testing.B) {
	h := loaded(b, plugintest.Fixture)
	var toHandler time.Duration
	n := 0
	for b.Loop() {
		n++
		key := fmt.Sprint("bench-", n)
		waited := func(field string) {
			want := tool.Call{Name: fixture.WaitedTool, Arguments: fmt.Appendf(nil, `{"key":%q,%q:1}`, key, field)}
			for {
				out := h.Call(b.Context(), want)
				if !out.Success {
					b.Fatal(out.Content)
				}
				if string(out.Structured) == `{"began":1,"ended":1}` || field == "began" && string(out.Structured) == `{"began":1,"ended":0}` {
					return
				}
			}
		}
		ctx, cancel := context.WithCancel(b.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = h.Execute(ctx, tool.Call{Name: fixture.WaitTool, Arguments: fmt.Appendf(nil, `{"key":%q}`, key)})
		}()
		waited("began")
		begin := time.Now()
		cancel()
		waited("ended")
		toHandler += time.Since(begin)
		<-ended
	}
	b.ReportMetric(float64(toHandler.Microseconds())/float64(n)/1000, "ms-to-handler")
}
