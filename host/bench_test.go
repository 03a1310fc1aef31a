package host_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// discard is a record that keeps nothing: what is measured is the chain.
type discard struct{}

func (discard) WantsArguments() bool { return false }

func (discard) Write(audit.Record) error { return nil }

// crowd is a host with n tools, each with what a call has to pass.
func crowd(b testing.TB, n int) (*host.Host, *host.Session) {
	b.Helper()
	h := require.Must(host.New(host.WithRoot(b.TempDir()), host.WithAudit(discard{})))(b)
	attach(b, h, 0, n)
	b.Cleanup(func() { _ = h.Close(context.Background()) })
	return h, h.Session(host.WithGrants("fs:read"))
}

// attach adds the tools of some numbers.
func attach(b testing.TB, h *host.Host, from, to int) {
	b.Helper()
	var tools []tool.Tool
	for i := from; i < to; i++ {
		tools = append(tools, member(i))
	}
	set := require.Must(tool.NewSet(tools...))(b)
	require.Must(h.Attach(b.Context(), fmt.Sprintf("crowd%d", from), set))(b)
}

func member(i int) tool.Tool {
	return tool.Tool{
		Definition: tool.Definition{
			Name: fmt.Sprintf("group%d.tool%d", i%100, i), Description: "Does nothing.", Safety: tool.Safe, Permission: "fs:read",
			Categories: []string{fmt.Sprintf("c%d", i%10)}, MaxRetries: 2, Idempotent: true,
			RateLimit:   &tool.RateLimit{Calls: 100_000_000, Period: tool.Duration(time.Second)},
			InputSchema: tool.Schema(`{"type":"object","properties":{"path":{"type":"string","pattern":"^[^/].*$"},"limit":{"type":"integer","minimum":1},"all":{"type":"boolean"}},"required":["path"],"additionalProperties":false}`),
		},
		Handler: func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, nil },
	}
}

// The host's own part of a call: the whole way, to a tool that does nothing.
func BenchmarkCall(b *testing.B) {
	_, s := crowd(b, 10_000)
	call := tool.Call{ID: "1", Name: "group42.tool4242", Arguments: []byte(`{"path":"src/main.go","limit":20,"all":true}`)}
	b.ReportAllocs()
	for b.Loop() {
		require.Must(s.Execute(b.Context(), call))(b)
	}
}

// The same from all processors at once, each with a session of its own.
func BenchmarkCallParallel(b *testing.B) {
	h, _ := crowd(b, 100) // what is shared does not grow with their number
	call := tool.Call{ID: "1", Name: "group42.tool42", Arguments: []byte(`{"path":"src/main.go","limit":20,"all":true}`)}
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		s := h.Session(host.WithGrants("fs:read"))
		for pb.Next() {
			if _, err := s.Execute(b.Context(), call); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// A call's allocations, unlike its time, are the same on every machine.
func TestCallAllocatesLittle(t *testing.T) { //nolint:paralleltest // others' allocations would count
	_, s := crowd(t, 10)
	call := tool.Call{ID: "1", Name: "group4.tool4", Arguments: []byte(`{"path":"src/main.go","limit":20,"all":true}`)}
	n := testing.AllocsPerRun(1000, func() {
		require.Must(s.Execute(t.Context(), call))(t)
	})
	// The trace, which is the context, and the context of the attempt.
	if n > 2 {
		t.Errorf("%v allocations a call, want at most 2", n)
	}
}

func BenchmarkLookup(b *testing.B) {
	h, _ := crowd(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, h.ValidateCall("group42.tool4242", []byte(`{"path":"a"}`)))
	}
}

func BenchmarkFilter(b *testing.B) {
	h, _ := crowd(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		if n := len(h.Tools(host.Filter{MaxSafety: tool.Safe, Categories: []string{"c3"}, Search: "tool4243"})); n != 1 {
			b.Fatal(n)
		}
	}
}

// Ten thousand tools of a program that registers them one by one.
func BenchmarkRegister(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		h := require.Must(host.New(host.WithRoot(b.TempDir()), host.WithAudit(discard{})))(b)
		for i := range 10_000 {
			require.NoError(b, h.Register(member(i)))
		}
		require.NoError(b, h.Close(context.Background()))
	}
}

// One changed of 100,000 tools, and then their list.
func BenchmarkReplace(b *testing.B) {
	h, _ := crowd(b, 10_000)
	for i := range 9 {
		attach(b, h, (i+1)*10_000, (i+2)*10_000)
	}
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, h.Replace(member(4242)))
		if h.Len() != 100_000 {
			b.Fatal(h.Len())
		}
	}
}
