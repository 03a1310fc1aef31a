package wire

import (
	"bytes"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

func TestParseRequest(t *testing.T) {
	t.Parallel()
	want := request{
		call:    tool.Call{ID: "c1", Name: "fs.read", Arguments: []byte(`{"p":1}`), Session: "s", Caller: "cli", IdempotencyKey: "k"},
		timeout: 1500 * time.Millisecond, progress: true,
	}
	b := appendRequest(nil, &want)
	var seen []string
	got, err := parseRequest(b, func(b []byte) string {
		seen = append(seen, string(b))
		return strings.ToUpper(string(b))
	})
	want.call.Name, want.call.Session, want.call.Caller = "FS.READ", "S", "CLI"
	if err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(seen, []string{"fs.read", "s", "cli"}) {
		t.Errorf("%+v, %v, interned %q, want %+v", got, err, seen, want)
	}
	assert.Equalf(t, cap(got.call.Arguments), len(got.call.Arguments), "whoever appends to the arguments writes over what follows them")
	// The ID of a long request does not share its memory.
	long := appendRequest(nil, &request{call: tool.Call{ID: "c1", Arguments: make([]byte, shortRequest)}})
	if got, err = parseRequest(long, nil); err != nil {
		t.Fatal(err)
	}
	clear(long)
	assert.Equalf(t, got.call.ID, "c1", "the ID became")
	for _, ms := range []int64{-1, 1, math.MaxInt64, math.MinInt64} {
		b := protowire.AppendVarint(protowire.AppendTag(nil, requestTimeout, protowire.VarintType), uint64(ms))
		got, err := parseRequest(b, nil)
		if want := time.Duration(fromMilliseconds(ms)); err != nil || got.timeout != want {
			t.Errorf("%d ms: %v, %v, want %v", ms, got.timeout, err, want)
		}
	}
	for _, b := range [][]byte{{0}, {0x0a}, {0x0a, 0x02, 'a'}, bytes.Repeat([]byte{0xff}, 11)} {
		if got, err := parseRequest(b, nil); err == nil || !strings.Contains(err.Error(), "the request is malformed: ") {
			t.Errorf("%x: %+v, %v", b, got, err)
		}
	}
}

func TestParseResponse(t *testing.T) {
	t.Parallel()
	for name, want := range answers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parseResponse(appendResponse(nil, &want, nil))
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%#v, %v, want %#v", got, err, want)
			}
			for _, c := range got.Content {
				if r, ok := c.(tool.ResourceContent); ok && cap(r.Blob) != len(r.Blob) {
					t.Error("whoever appends to the blob writes over what follows it")
				}
				if m, ok := c.(tool.ImageContent); ok && cap(m.Data) != len(m.Data) {
					t.Error("whoever appends to the data writes over what follows it")
				}
			}
			if cap(got.Structured) != len(got.Structured) {
				t.Error("whoever appends to the structured value writes over what follows it")
			}
		})
	}
}

func TestParseResponseRefuses(t *testing.T) {
	t.Parallel()
	text := lengthField(resultContent, lengthField(contentText, lengthField(1, []byte("a"))))
	for want, b := range map[string][]byte{
		"the plugin answered with neither a result nor an error":                     nil,
		"the plugin's answer is malformed: the message ends within field 1":          {0x0a, 0x05, 0x0a},
		"the plugin's answer is malformed: the message ends within a field's number": {0x80},
		"the plugin's answer is malformed: a field's number cannot be read":          {0x02, 0x00},
		"the plugin's answer is malformed: field number 536870912 is not valid":      {0x82, 0x80, 0x80, 0x80, 0x10, 0x00},
		"the plugin's answer is malformed: the structured result is not JSON": lengthField(responseResult,
			lengthField(resultStructured, []byte(`{"a":`))),
		"the plugin's answer is malformed: content block 1: unknown kind": lengthField(responseResult, text,
			lengthField(resultContent), text),
		"the plugin's answer is malformed: content block 0: unknown kind": lengthField(responseResult,
			lengthField(resultContent, lengthField(6, []byte("new")))),
		"the plugin's answer is malformed: more than 65536 content blocks": lengthField(responseResult,
			bytes.Repeat(text, maxBlocks+1)),
		"the plugin's answer is malformed: field 1 cannot be read": {0x0c},
		"the plugin's answer is malformed: field 2 cannot be read": {0x17, 0x00},
	} {
		got, err := parseResponse(b)
		e := tool.AsError(err)
		if err == nil || e.Message != want || e.Code != tool.CodeInvalidResult || e.Stage != callstage.Execute ||
			e.Advice() == "" ||
			!reflect.DeepEqual(got, tool.Result{}) {
			t.Errorf("%.20x: %#v, %v, want %s", b, got, err, want)
		}
	}
	if got, err := parseResponse(lengthField(responseResult, bytes.Repeat(text, maxBlocks))); err != nil ||
		len(got.Content) != maxBlocks {
		t.Errorf("%d blocks, %v", len(got.Content), err)
	}
	plugins := lengthField(responseError, lengthField(errorCode, []byte("crashed")),
		lengthField(errorMessage, []byte("m\xff")), lengthField(errorHint, []byte("h")))
	want := &tool.Error{Code: tool.CodeToolFailed, Stage: callstage.Execute, Message: "m\uFFFD", Hint: "h",
		Err: ErrClaimed}
	if got, err := parseResponse(plugins); !reflect.DeepEqual(err, want) || !reflect.DeepEqual(got, tool.Result{}) {
		t.Errorf("%#v, %#v, want %#v", got, err, want)
	}
}

// Every truncation of a message, and every message with one bit changed, is decoded as
// protobuf decodes it. The fuzz tests check the same with generated input.
func TestParseResponseDamaged(t *testing.T) {
	t.Parallel()
	whole := lengthField(responseResult,
		lengthField(resultContent, lengthField(contentText, lengthField(1, []byte("é")))),
		lengthField(resultContent, lengthField(contentImage, lengthField(1, []byte("d")), lengthField(2, []byte("m")))),
		lengthField(resultContent, lengthField(contentResource, lengthField(1, []byte("u")), lengthField(4, []byte("b")))),
		lengthField(resultContent, lengthField(contentResourceLink, lengthField(1, []byte("u")),
			lengthField(4, []byte("m")))),
		lengthField(resultStructured, []byte("1")), []byte{0x18, 1},
	)
	check := func(b []byte) {
		want, wantErr := referenceResponse(t, b)
		got, err := parseResponse(bytes.Clone(b))
		if tool.CodeOf(err) != tool.CodeOf(wantErr) || !reflect.DeepEqual(got, want) {
			t.Errorf("%x: %#v, %v, want %#v, %v", b, got, err, want, wantErr)
		}
	}
	for i := range whole {
		check(whole[:i])
		for bit := range 8 {
			b := bytes.Clone(whole)
			b[i] ^= 1 << bit
			check(b)
		}
	}
}

// Groups are skipped to the nesting depth that protobuf allows.
func TestNesting(t *testing.T) {
	t.Parallel()
	const most = protowire.DefaultRecursionLimit + 1
	for depth := most - 1; depth <= most+1; depth++ {
		b := nested(9, depth)
		var p pluginv1.ExecuteRequest
		wantErr := proto.Unmarshal(b, &p)
		if (wantErr == nil) != (depth <= most) {
			t.Fatalf("%d: protobuf says %v", depth, wantErr)
		}
		if _, err := parseRequest(b, nil); (err == nil) != (wantErr == nil) {
			t.Errorf("%d: %v, want %v", depth, err, wantErr)
		}
		if _, err := parseResponse(append(b, lengthField(responseResult, b)...)); (err == nil) != (wantErr == nil) {
			t.Errorf("%d: %v, want %v", depth, err, wantErr)
		}
	}
}

// A result does not take much more memory than its message. The test is not parallel,
// because it measures the process.
//
//nolint:paralleltest // see above
func TestParseResponseMemory(t *testing.T) {
	empty := lengthField(resultContent, lengthField(contentResource))
	for name, b := range map[string][]byte{
		"a million of the smallest blocks": lengthField(responseResult, bytes.Repeat(empty, 1<<20)),
		"as many of an unknown kind":       lengthField(responseResult, bytes.Repeat(lengthField(resultContent), 1<<20)),
		"unknown fields":                   bytes.Repeat([]byte{0x78, 0x00}, 1<<20),
		"nested groups":                    bytes.Repeat([]byte{0x7b}, 1<<20),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := parseResponse(b); err == nil {
			t.Errorf("%s: taken", name)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
			t.Errorf("%s: %d bytes for a message of %d", name, used, len(b))
		}
	}
}

func TestProgressPayload(t *testing.T) {
	t.Parallel()
	for in, want := range map[tool.Progress]tool.Progress{
		{}: {},
		{Done: 0.5, Total: 2, Message: "a\xffé"}: {Done: 0.5, Total: 2, Message: "a\uFFFDé"},
		{Done: math.Inf(1), Total: math.NaN()}:   {},
		{Done: -1, Total: math.Inf(-1)}:          {Done: -1},
	} {
		b := appendProgress([]byte("before"), in)
		if got, err := parseProgress(b[len("before"):]); err != nil || got != want || string(b[:6]) != "before" {
			t.Errorf("%+v: %+v, %v, want %+v", in, got, err, want)
		}
	}
	if got, err := parseProgress([]byte{0}); err == nil || got != (tool.Progress{}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestLogPayload(t *testing.T) {
	t.Parallel()
	b := appendLog([]byte("before"), "warn\xff", "a\nb\xff")
	level, text, err := parseLog(b[len("before"):])
	if err != nil || level != "warn\uFFFD" || text != "a\nb\uFFFD" || string(b[:6]) != "before" {
		t.Errorf("%q, %q, %v", level, text, err)
	}
	if level, text, err := parseLog([]byte{0x0a}); err == nil || level != "" || text != "" {
		t.Errorf("%q, %q, %v", level, text, err)
	}
}
