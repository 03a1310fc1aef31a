package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// The small call has an argument of 80 bytes, as in docs/performance.md.
func smallRequest() request {
	return request{
		call: tool.Call{
			ID: "c-000000012345", Name: "bench.echo", Session: "s-1",
			Arguments: json.RawMessage(`{"text":"` + strings.Repeat("a", 69) + `"}`),
		},
		timeout: 30 * time.Second,
	}
}

func internSmall(b []byte) string {
	switch string(b) {
	case "bench.echo":
		return "bench.echo"
	case "s-1":
		return "s-1"
	}
	return string(b)
}

func BenchmarkRequest(b *testing.B) {
	r := smallRequest()
	wire := appendRequest(nil, &r)
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, 0, len(wire))
		for b.Loop() {
			_ = r.length()
			buf = appendRequest(buf[:0], &r)
		}
	})
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			require.Must(parseRequest(wire, internSmall))(b)
		}
	})
	b.Run("generated/append", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, 0, len(wire))
		for b.Loop() {
			buf, _ = proto.MarshalOptions{}.MarshalAppend(buf[:0], &pluginv1.ExecuteRequest{
				Id: clean(r.call.ID), Tool: clean(r.call.Name), ArgumentsJson: r.call.Arguments, Session: r.call.Session,
				TimeoutMs: toMilliseconds(tool.Duration(r.timeout)),
			})
		}
	})
	b.Run("generated/parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var p pluginv1.ExecuteRequest
			require.NoError(b, proto.Unmarshal(wire, &p))
		}
	})
}

func BenchmarkResponse(b *testing.B) {
	multi := strings.Repeat("naïve café, ½ π — “日本語” ", 8<<20/40)
	for _, size := range []struct{ name, text string }{
		{"80", strings.Repeat("a", 80)}, {"64KiB", strings.Repeat("a", 64<<10)},
		{"8MiB", strings.Repeat("a", 8<<20)}, {"8MiB_mixed", multi},
	} {
		res := tool.Text(size.text)
		wire := appendResponse(nil, &res, nil)
		b.Run(size.name+"/append", func(b *testing.B) {
			b.ReportAllocs()
			buf := make([]byte, 0, len(wire))
			for b.Loop() {
				buf = appendResponse(buf[:0], &res, nil)
			}
		})
		b.Run(size.name+"/size", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = responseLength(&res, nil)
			}
		})
		b.Run(size.name+"/parse", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				require.Must(parseResponse(wire))(b)
			}
		})
		b.Run(size.name+"/generated/append", func(b *testing.B) {
			b.ReportAllocs()
			buf := make([]byte, 0, len(wire))
			for b.Loop() {
				buf, _ = proto.MarshalOptions{}.MarshalAppend(buf[:0], &pluginv1.ExecuteResponse{
					Outcome: &pluginv1.ExecuteResponse_Result{Result: resultToProto(res)},
				})
			}
		})
		b.Run(size.name+"/generated/parse", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var p pluginv1.ExecuteResponse
				require.NoError(b, proto.Unmarshal(wire, &p))
				require.Must(resultFromProto(p.GetResult()))(b)
			}
		})
	}
}
