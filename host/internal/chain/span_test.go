package chain_test

import (
	"context"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	parent  = "00-" + traceID + "-b7ad6b7169203331-01"
)

// passed is what a call passes on of a trace.
func passed(in tool.Trace, sampled func([16]byte) bool) tool.Trace {
	t := &chain.Trace{}
	ctx := chain.WithTrace(context.WithValue(context.Background(), callctx.Trace{}, &in), t)
	t.Join(sampled)
	return tool.TraceFrom(ctx)
}

// A trace that is not valid is ignored, as W3C Trace Context has it.
func TestTraceOfCaller(t *testing.T) {
	t.Parallel()
	always := func([16]byte) bool { return true }
	for in, want := range map[string]string{
		parent:                                             parent,
		parent[:53] + "00":                                 parent[:53] + "00",
		"01" + parent[2:] + "-more":                        parent,
		parent + "-more":                                   "",
		"01" + parent[2:] + "more":                         "",
		"ff" + parent[2:]:                                  "",
		strings.ToUpper(parent):                            "",
		parent[:54]:                                        "",
		strings.Replace(parent, "0af", "0ag", 1):           "",
		"00-" + strings.Repeat("0", 32) + parent[35:]:      "",
		parent[:36] + strings.Repeat("0", 16) + "-01":      "",
		"01" + parent[2:] + "-" + strings.Repeat("x", 512): "",
		"\x00": "", strings.Repeat("\u202e", 20): "",
	} {
		if got := passed(tool.Trace{Parent: in, State: "a=b"}, nil); got.Parent != want || (got.State == "") != (want == "") {
			t.Errorf("%q is passed on as %+v", in, got)
		}
		got := passed(tool.Trace{Parent: in}, always)
		switch {
		case tracesOf(got.Parent) == "" || got.Parent[36:52] == parent[36:52]:
			t.Errorf("%q: the call has no span of its own: %q", in, got.Parent)
		case (want != "") != (tracesOf(got.Parent) == traceID):
			t.Errorf("%q: the trace is %q", in, got.Parent)
		case (want == parent || want == "") != strings.HasSuffix(got.Parent, "-01"):
			t.Errorf("%q: sampled is %q", in, got.Parent)
		}
	}
	for _, state := range []string{"a=\x00", "a=é", strings.Repeat("a", 513)} {
		if got := passed(tool.Trace{Parent: parent, State: state}, nil); got.Parent != parent || got.State != "" {
			t.Errorf("the state %.20q is passed on as %+v", state, got)
		}
	}
	if got := passed(tool.Trace{}, func(id [16]byte) bool { return id == [16]byte{} }); !strings.HasSuffix(got.Parent, "-00") {
		t.Errorf("a trace that is not sampled: %q", got.Parent)
	}
}

// tracesOf is the trace of a traceparent of version 00.
func tracesOf(p string) string {
	if len(p) != len(parent) || p[:3] != "00-" || p[35] != '-' || p[52] != '-' {
		return ""
	}
	return p[3:35]
}

func BenchmarkJoin(b *testing.B) {
	b.ReportAllocs()
	t := &chain.Trace{}
	chain.WithTrace(b.Context(), t)
	for b.Loop() {
		t.Join(func([16]byte) bool { return true })
	}
}
