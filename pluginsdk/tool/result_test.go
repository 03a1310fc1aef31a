package tool_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestResultJSON(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		r    tool.Result
		want string
	}{
		"nothing":    {tool.Result{}, `{"content":[]}`},
		"text":       {tool.Text("a<b"), `{"content":[{"type":"text","text":"a\u003cb"}]}`},
		"empty text": {tool.Text(""), `{"content":[{"type":"text","text":""}]}`},
		"failure":    {tool.Failure("no"), `{"content":[{"type":"text","text":"no"}],"is_error":true}`},
		"structured": {tool.Result{Structured: json.RawMessage(`{"a":1}`)}, `{"content":[],"structured":{"a":1}}`},
		"null":       {tool.Result{Structured: json.RawMessage(`null`)}, `{"content":[],"structured":null}`},
		"image": {
			one(tool.ImageContent{Data: []byte{1}, MIMEType: "image/png"}),
			`{"content":[{"type":"image","data":"AQ==","mime_type":"image/png"}]}`,
		},
		"image, nothing": {one(tool.ImageContent{}), `{"content":[{"type":"image","data":null,"mime_type":""}]}`},
		"audio": {
			one(tool.AudioContent{Data: []byte{1}, MIMEType: "audio/wav"}),
			`{"content":[{"type":"audio","data":"AQ==","mime_type":"audio/wav"}]}`,
		},
		"resource text": {
			one(tool.ResourceContent{URI: "a:b", MIMEType: "text/plain", Text: "t"}),
			`{"content":[{"type":"resource","uri":"a:b","mime_type":"text/plain","text":"t"}]}`,
		},
		"resource blob": {
			one(tool.ResourceContent{URI: "a:b", Blob: []byte{1}}),
			`{"content":[{"type":"resource","uri":"a:b","blob":"AQ=="}]}`,
		},
		"resource empty blob": {
			one(tool.ResourceContent{URI: "a:b", Blob: []byte{}}),
			`{"content":[{"type":"resource","uri":"a:b","blob":""}]}`,
		},
		"link": {
			one(tool.ResourceLink{URI: "a:b", Name: "n", Description: "d", MIMEType: "m"}),
			`{"content":[{"type":"resource_link","uri":"a:b","name":"n","description":"d","mime_type":"m"}]}`,
		},
		"several": {
			tool.Result{Content: []tool.Content{tool.TextContent{Text: "a"}, tool.ResourceLink{URI: "b"}}},
			`{"content":[{"type":"text","text":"a"},{"type":"resource_link","uri":"b"}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := require.Must(json.Marshal(c.r))(t)
			assert.Equalf(t, string(b), c.want, "%s, want %s", b, c.want)
			var back tool.Result
			if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, c.r) {
				t.Errorf("decoded as %#v, %v, want %#v", back, err, c.r)
			}
		})
	}
}

func one(c tool.Content) tool.Result { return tool.Result{Content: []tool.Content{c}} }

func TestResultJSONRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"content":[{"type":"video"}]}`:            `unknown content type "video"`,
		`{"content":[{}]}`:                          `unknown content type ""`,
		`{"content":[null]}`:                        `unknown content type ""`,
		`{"content":[{"type":"text","text":1}]}`:    "cannot unmarshal",
		`{"content":[{"type":"image","data":"!"}]}`: "illegal base64",
		`{"content":["text"]}`:                      "cannot unmarshal",
		`{"content":{}}`:                            "cannot unmarshal",
	} {
		r := tool.Text("kept")
		if err := json.Unmarshal([]byte(text), &r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want ...%s...", text, err, want)
		}
		assert.Equalf(t, r.Text(), "kept", "%s: a failed decoding changed the result: %+v", text, r)
	}
	if _, err := json.Marshal(tool.Result{Structured: json.RawMessage(`{`)}); err == nil {
		t.Error("structured text that is not JSON was encoded")
	}
}

func TestResultText(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]tool.Result{
		"nil":                        {},
		`{"a":1}`:                    {Structured: json.RawMessage(`{"a":1}`)},
		"a":                          tool.Text("a"),
		"b":                          tool.Failure("b"),
		"":                           tool.Text(""),
		"[image image/png, 2 bytes]": one(tool.ImageContent{Data: []byte{1, 2}, MIMEType: "image/png"}),
		"[audio audio/wav, 1 bytes]": one(tool.AudioContent{Data: []byte{1}, MIMEType: "audio/wav"}),
		"content":                    one(tool.ResourceContent{URI: "u", Text: "content"}),
		"[resource u m, 0 bytes]":    one(tool.ResourceContent{URI: "u", MIMEType: "m", Blob: []byte{}, Text: "not this"}),
		"[link u]":                   one(tool.ResourceLink{URI: "u", Name: "u"}),
		"[link u (n)]":               one(tool.ResourceLink{URI: "u", Name: "n"}),
		"a\n[link u]\n":              {Content: []tool.Content{tool.TextContent{Text: "a"}, tool.ResourceLink{URI: "u"}, tool.TextContent{}}},
	} {
		assert.Equal(t, r.Text(), want)
	}
	if tool.Text("a").IsError || !tool.Failure("a").IsError {
		t.Error("IsError is wrong")
	}
}
