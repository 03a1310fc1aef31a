package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// overTheWire encodes and decodes a message, because some values that differ before are
// equal afterwards (an empty list and none).
func overTheWire[M proto.Message](t *testing.T, in, out M) M {
	t.Helper()
	b := require.Must(proto.Marshal(in))(t)
	require.NoError(t, proto.Unmarshal(b, out))
	return out
}

func TestDefinitionRoundTrip(t *testing.T) {
	t.Parallel()
	full := tool.Definition{
		Name: "fs.read", Title: "Read", Description: "Reads é.",
		InputSchema: tool.Schema(`{"type": "object"}`), OutputSchema: tool.Schema(`true`),
		Safety: tool.Cautious, Categories: []string{"a", "b"}, Permission: tool.FSRead,
		Idempotent: true, MaxRetries: 3, Timeout: tool.Duration(90 * time.Second),
		RateLimit: &tool.RateLimit{Calls: math.MaxInt32, Period: tool.Duration(time.Millisecond)}, Sensitive: []string{"p"},
		Icons: []byte(`[{"src": "https://a/b"}]`), Meta: []byte(`{"b": 9007199254740993, "a": 1}`),
	}
	for v, i := reflect.ValueOf(full), 0; i < v.NumField(); i++ {
		if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "Alias" { // which only hosts give
			t.Fatalf("this test does not set %s", name)
		}
	}
	defs := []tool.Definition{full, {}}
	for s := tool.Unset; s <= tool.Dangerous; s++ {
		defs = append(defs, tool.Definition{Name: "a", Safety: s})
	}
	for _, d := range defs {
		got, err := definitionFromProto(overTheWire(t, definitionToProto(d), &pluginv1.ToolDefinition{}))
		if err != nil || !reflect.DeepEqual(got, d) {
			t.Errorf("%+v, %v, want %+v", got, err, d)
		}
	}
	if got, err := definitionFromProto(&pluginv1.ToolDefinition{Safety: "moderate"}); err != nil ||
		got.Safety != tool.Cautious {
		t.Errorf("moderate is %v, %v", got.Safety, err)
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	const million = 1_000_000
	for ms, want := range map[int64]time.Duration{
		0: 0, 1: time.Millisecond, -5: -5 * time.Millisecond,
		math.MaxInt64: math.MaxInt64 / million * million, math.MinInt64: -(math.MaxInt64 / million * million),
		math.MaxInt64/million + 1: math.MaxInt64 / million * million,
	} {
		if got := fromMilliseconds(ms); got != tool.Duration(want) {
			t.Errorf("%d ms: %v, want %v", ms, time.Duration(got), want)
		}
	}
	for d, want := range map[time.Duration]int64{
		0: 0, 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2, -1: 0, -time.Second: -1000,
		math.MaxInt64: math.MaxInt64/million + 1,
	} {
		if got := toMilliseconds(tool.Duration(d)); got != want {
			t.Errorf("%v: %d ms, want %d", d, got, want)
		}
	}
	for n, want := range map[int]int32{0: 0, -1: -1, 1 << 40: math.MaxInt32, -1 << 40: math.MinInt32} {
		assert.Equalf(t, saturate(n), want, "%d", n)
	}
}

func TestResultRoundTrip(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]tool.Result{
		"nothing":    {},
		"failure":    tool.Failure("no"),
		"structured": {Structured: json.RawMessage(` {"a": [1, null]} `)},
		"null":       {Structured: json.RawMessage(`null`)},
		"texts":      {Content: []tool.Content{tool.TextContent{Text: "é\x00"}, tool.TextContent{}}},
		"image": {Content: []tool.Content{tool.ImageContent{Data: []byte{0, 255}, MIMEType: "image/png"},
			tool.ImageContent{}}},
		"audio": {Content: []tool.Content{tool.AudioContent{Data: []byte{0, 255}, MIMEType: "audio/wav"},
			tool.AudioContent{}}},
		"resources": {Content: []tool.Content{
			tool.ResourceContent{URI: "a:b", MIMEType: "m", Text: "t"},
			tool.ResourceContent{URI: "a:b", MIMEType: "m", Blob: []byte{0, 255}},
			tool.ResourceContent{URI: "empty", Blob: []byte{}},
			tool.ResourceContent{},
		}},
		"links": {Content: []tool.Content{tool.ResourceLink{URI: "a:b", Name: "n", Description: "d", MIMEType: "m"},
			tool.ResourceLink{}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parseResponse(appendResponse(nil, &r, nil))
			if err != nil || !reflect.DeepEqual(got, r) {
				t.Errorf("%#v, %v, want %#v", got, err, r)
			}
		})
	}
}

func TestGarbledResult(t *testing.T) {
	t.Parallel()
	const bad, good = "a\xffb", "a\uFFFDb"
	sent := tool.Result{
		Content: []tool.Content{
			tool.TextContent{Text: bad},
			tool.ImageContent{Data: []byte(bad), MIMEType: bad},
			tool.AudioContent{MIMEType: bad},
			tool.ResourceContent{URI: bad, MIMEType: bad, Text: bad},
			tool.ResourceContent{URI: bad, MIMEType: bad, Blob: []byte(bad)},
			tool.ResourceLink{URI: bad, Name: bad, Description: bad, MIMEType: bad},
		},
		Structured: json.RawMessage(`"` + bad + `"`),
	}
	got, err := parseResponse(appendResponse(nil, &sent, nil))
	want := tool.Result{
		Content: []tool.Content{
			tool.TextContent{Text: good},
			tool.ImageContent{Data: []byte(bad), MIMEType: good},
			tool.AudioContent{MIMEType: good},
			tool.ResourceContent{URI: good, MIMEType: good, Text: good},
			tool.ResourceContent{URI: good, MIMEType: good, Blob: []byte(bad)},
			tool.ResourceLink{URI: good, Name: good, Description: good, MIMEType: good},
		},
		Structured: json.RawMessage(`"` + good + `"`),
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%#v, %v, want %#v", got, err, want)
	}
}

func TestMalformedResult(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]*pluginv1.Result{
		"the structured result is not JSON": {StructuredJson: []byte(`{"a":`)},
		"content block 1: unknown kind": {Content: []*pluginv1.Content{
			{Block: &pluginv1.Content_Text{Text: &pluginv1.Text{Text: "a"}}}, {},
		}},
		"content block 0: unknown kind": resultToProto(tool.Result{Content: []tool.Content{nil}}),
	} {
		b, err := proto.Marshal(&pluginv1.ExecuteResponse{Outcome: &pluginv1.ExecuteResponse_Result{Result: p}})
		require.NoError(t, err)
		r, err := parseResponse(b)
		if tool.CodeOf(err) != tool.CodeInvalidResult || !strings.Contains(err.Error(), want) ||
			!reflect.DeepEqual(r, tool.Result{}) {
			t.Errorf("%+v, %v, want ...%s...", r, err, want)
		}
	}
}

func TestErrorCodes(t *testing.T) {
	t.Parallel()
	for code, want := range map[tool.Code]tool.Code{
		tool.CodeInvalidArguments:  tool.CodeInvalidArguments,
		tool.CodePermissionDenied:  tool.CodePermissionDenied,
		tool.CodeRateLimited:       tool.CodeRateLimited,
		tool.CodeUnavailable:       tool.CodeUnavailable,
		tool.CodeDeadlineExceeded:  tool.CodeDeadlineExceeded,
		tool.CodeCanceled:          tool.CodeCanceled,
		tool.CodeResourceExhausted: tool.CodeResourceExhausted,
		tool.CodeNotFound:          tool.CodeNotFound,
		tool.CodeAlreadyExists:     tool.CodeAlreadyExists,
		tool.CodeInvalidResult:     tool.CodeInvalidResult,
		tool.CodeToolFailed:        tool.CodeToolFailed,
		tool.CodeInternal:          tool.CodeInternal,
		// The host's own findings, which a plugin cannot make:
		tool.CodeCrashed:           tool.CodeToolFailed,
		tool.CodeApprovalDenied:    tool.CodeToolFailed,
		tool.CodeApprovalRequired:  tool.CodeToolFailed,
		tool.CodeInvalidDefinition: tool.CodeToolFailed,
		"":                         tool.CodeToolFailed,
		"made_up":                  tool.CodeToolFailed,
		"Not_Found":                tool.CodeToolFailed,
	} {
		in := &tool.Error{Code: code, Message: "what", Hint: "next", Detail: "stack", Plugin: "p", Unsent: true}
		_, got := parseResponse(appendResponse(nil, nil, in))
		want := &tool.Error{Code: want, Message: "what", Hint: "next", Stage: callstage.Execute, Err: ErrClaimed}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", code, got, want)
		}
	}
	_, got := parseResponse(appendResponse(nil, nil, fmt.Errorf("around: %w", &tool.Error{Code: tool.CodeCanceled})))
	if got == nil || got.Error() != "around: canceled" {
		t.Errorf("%v", got)
	}
}
