package wire

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/internal/fixture"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// answers returns results of every kind.
func answers() map[string]tool.Result {
	long := strings.Repeat("x", 1<<14)
	return map[string]tool.Result{
		"nothing":    {},
		"fixture":    fixture.Content(),
		"failure":    tool.Failure("no"),
		"structured": {Structured: []byte(` {"a": [1, null]} `)},
		"extras": {
			Content: []tool.Content{
				tool.TextContent{Text: "t", Extra: `{"annotations":{"audience":["user"]},"_meta":{"b":9007199254740993,"a":1}}`},
				tool.ImageContent{Data: []byte{1}, Extra: `{"_meta":{}}`}, tool.AudioContent{Extra: ` {} `},
				tool.ResourceContent{URI: "a:b", Text: "t", Extra: `{"resource":{"_meta":{"n":1}}}`},
				tool.ResourceContent{URI: "a:b", Blob: []byte{}, Extra: `{"_meta":{"x":"` + long + `"}}`},
				tool.ResourceLink{URI: "a:b", Extra: `{"title":"T","size":3,"icons":[{"src":"https://a/b"}]}`},
			},
			Meta: []byte(`{"b":9007199254740993,"a":1}`),
		},
		"texts": {Content: []tool.Content{tool.TextContent{Text: "é\x00"}, tool.TextContent{},
			tool.TextContent{Text: long}}},
		"media": {Content: []tool.Content{
			tool.ImageContent{Data: []byte{0, 255}, MIMEType: "image/png"}, tool.ImageContent{},
			tool.AudioContent{Data: []byte{0, 255}, MIMEType: "audio/wav"}, tool.AudioContent{MIMEType: "m"},
		}},
		"resources": {Content: []tool.Content{
			tool.ResourceContent{URI: "a:b", MIMEType: "m", Text: "t"},
			tool.ResourceContent{URI: "a:b", MIMEType: "m", Blob: []byte{0, 255}},
			tool.ResourceContent{URI: "empty", Blob: []byte{}}, tool.ResourceContent{}, tool.ResourceContent{Text: long},
		}},
		"links": {Content: []tool.Content{tool.ResourceLink{URI: "a:b", Name: "n", Description: "d", MIMEType: "m"},
			tool.ResourceLink{}}},
	}
}

func FuzzEncodeRequest(f *testing.F) {
	f.Add("id", "fs.read", []byte(`{"a":1}`), "session", int64(time.Second), true)
	f.Add("", "", []byte(nil), "", int64(0), false)
	f.Add("\xff", "\xff\xff", []byte("\xff"), "a\xc3", int64(-1), true)
	f.Add("", "é", []byte{}, "", int64(1), false)
	f.Add("", "", []byte{}, "", int64(math.MinInt64), false)
	f.Add("", "", bytes.Repeat([]byte("x"), 1<<14), strings.Repeat("\xffx", 127), int64(math.MaxInt64), false)
	f.Fuzz(func(t *testing.T, id, name string, arguments []byte, session string, timeout int64, progress bool) {
		r := request{
			call:    tool.Call{ID: id, Name: name, Arguments: arguments, Session: session, Caller: session, IdempotencyKey: id},
			timeout: time.Duration(timeout), progress: progress,
		}
		b := encoded(t, func(b []byte) []byte { return appendRequest(b, &r) }, r.length())
		var got pluginv1.ExecuteRequest
		require.NoError(t, proto.Unmarshal(b, &got))
		want := &pluginv1.ExecuteRequest{
			Id: clean(id), Tool: clean(name), ArgumentsJson: arguments, Session: clean(session), Caller: clean(session), IdempotencyKey: clean(id),
			TimeoutMs: toMilliseconds(tool.Duration(timeout)), Progress: progress,
		}
		if !proto.Equal(&got, want) {
			t.Fatalf("%v, want %v", &got, want)
		}
	})
}

// encoded returns what appendTo appends, which is at most three times the reported length, and no more than that if
// all of it is UTF-8.
func encoded(t *testing.T, appendTo func([]byte) []byte, length int) []byte {
	t.Helper()
	const before = "before"
	buf := make([]byte, len(before), len(before)+length)
	copy(buf, before)
	b := appendTo(buf)
	if string(b[:len(before)]) != before {
		t.Fatalf("what was there is now %q", b[:len(before)])
	}
	b = b[len(before):]
	if len(b) > length && (len(b) > 3*length || !bytes.Contains(b, []byte("\uFFFD"))) {
		t.Fatalf("%d bytes, and %d were promised", len(b), length)
	}
	return b
}

func checkResponse(t *testing.T, res *tool.Result, err error) {
	t.Helper()
	b := encoded(t, func(b []byte) []byte { return appendResponse(b, res, err) }, responseLength(res, err))
	want := overTheWire(t, responseToProto(res, err), &pluginv1.ExecuteResponse{})
	var got pluginv1.ExecuteResponse
	if err := proto.Unmarshal(b, &got); err != nil {
		t.Fatalf("%x: %v", b, err)
	}
	if !proto.Equal(&got, want) {
		t.Fatalf("%v, want %v", &got, want)
	}
}

// FuzzEncodeResponse builds a result of up to a block for each byte of kinds.
func FuzzEncodeResponse(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7}, "a", "b", "c", []byte("d"), true)
	f.Add([]byte{0}, "\xff", "\xffa\xff", "", []byte(nil), false)
	f.Add([]byte{3, 4}, "", "", "", []byte{}, false)
	f.Add([]byte{8, 9, 10, 11}, "code", "message", "hint", []byte(nil), false)
	for n := 110; n < 135; n++ { // one to three bytes for each bad one, around the lengths that take another byte
		f.Add([]byte{0}, strings.Repeat("x", n)+"\xff", "", "", []byte(nil), false)
		f.Add([]byte{0}, strings.Repeat("\xff", n), "", "", []byte(nil), false)
		f.Add([]byte{0}, strings.Repeat("\xffx", n/4), "", "", []byte(nil), false)
	}
	f.Fuzz(func(t *testing.T, kinds []byte, x, y, z string, data []byte, isError bool) {
		res := tool.Result{Structured: data, IsError: isError}
		for _, k := range kinds {
			var c tool.Content
			switch k % 12 {
			case 0:
				c = tool.TextContent{Text: x}
			case 1:
				c = tool.ImageContent{Data: data, MIMEType: x}
			case 2:
				c = tool.AudioContent{Data: data, MIMEType: y}
			case 3:
				c = tool.ResourceContent{URI: x, MIMEType: y, Text: z, Blob: data}
			case 4:
				c = tool.ResourceContent{URI: z, MIMEType: x, Text: y}
			case 5:
				c = tool.ResourceLink{URI: x, Name: y, Description: z, MIMEType: x}
			case 6:
				c = &tool.TextContent{Text: x} // which cannot be sent, like nil
			case 8:
				checkResponse(t, nil, errors.New(x))
			case 9:
				checkResponse(t, nil, fmt.Errorf("%s: %w", z, &tool.Error{Code: tool.Code(x), Message: y, Hint: z}))
			case 10:
				checkResponse(t, &res, &tool.Error{Code: tool.Code(y), Err: errors.New(x)})
			}
			res.Content = append(res.Content, c)
		}
		checkResponse(t, &res, nil)
	})
}
