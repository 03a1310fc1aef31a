package tooltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The tools of [Fixture].
const (
	EchoTool    = "test.echo"    // answers with its arguments, as text and structured
	ContentTool = "test.content" // answers with [Content]
	BlobTool    = "test.blob"    // answers with a resource of so many "bytes"
	GarbledTool = "test.garbled" // answers with text that is not UTF-8
	SessionTool = "test.session" // answers with the session of the call
	FailTool    = "test.fail"    // answers that it failed
	ErrorTool   = "test.error"   // returns a plain error
	CodedTool   = "test.coded"   // returns a tool.Error with the "code" asked for
	PanicTool   = "test.panic"   // panics; the suite does without it where it is not served
	WaitTool    = "test.wait"    // returns when its context ends, and not before
	WaitedTool  = "test.waited"  // answers how many calls of test.wait with a "key" began, and how many ended
)

const (
	failText  = "failed as asked"
	errorText = "broken as asked"
	codedText = "refused as asked"
	codedHint = "ask for something else"
	panicText = "panicked as asked"
)

// MaxBlob bounds what [BlobTool] answers with, in bytes.
const MaxBlob = 16 << 20

// pollTime is how long a call of [WaitedTool] waits for what it is asked for.
const pollTime = 50 * time.Millisecond

// Fixture is the tools that a provider under test serves. All are safe and need
// no permission, so that a host asks nobody. Each Fixture counts the calls of
// [WaitTool] by itself.
func Fixture() []tool.Tool {
	w := newWaits()
	return []tool.Tool{
		fixture(EchoTool, "Answers with its arguments.", `{"type":"object"}`, echo, func(d *tool.Definition) {
			d.OutputSchema = tool.Schema(`{"type":"object"}`)
			d.Title, d.Categories = "Echo", []string{"test"}
		}),
		fixture(ContentTool, "Answers with every kind of content.", "", func(context.Context, tool.Call) (tool.Result, error) {
			return Content(), nil
		}),
		fixture(BlobTool, "Answers with so many bytes.",
			fmt.Sprintf(`{"type":"object","properties":{"bytes":{"type":"integer","minimum":0,"maximum":%d}},"required":["bytes"]}`, MaxBlob), blob),
		fixture(GarbledTool, "Answers with text that is not UTF-8.", "", func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Text(garbled), nil
		}),
		fixture(SessionTool, "Answers with the session of the call.", "", func(_ context.Context, c tool.Call) (tool.Result, error) {
			return tool.Text(c.Session), nil
		}),
		fixture(FailTool, "Says that it failed.", "", func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Failure(failText), nil
		}),
		fixture(ErrorTool, "Returns an error.", "", func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{}, errors.New(errorText)
		}),
		fixture(CodedTool, "Returns an error with a code.",
			`{"type":"object","properties":{"code":{"type":"string"}},"required":["code"]}`, coded),
		fixture(PanicTool, "Panics.", "", func(context.Context, tool.Call) (tool.Result, error) { panic(panicText) }),
		fixture(WaitTool, "Waits until its context ends.",
			`{"type":"object","properties":{"key":{"type":"string"}},"required":["key"]}`, w.wait),
		fixture(WaitedTool, "Tells of the calls that wait, or did, as soon as there are so many, or a little later.",
			`{"type":"object","properties":{"key":{"type":"string"},"began":{"type":"integer"},"ended":{"type":"integer"}},`+
				`"required":["key"]}`, w.waited),
	}
}

func fixture(name, description, input string, h tool.Handler, more ...func(*tool.Definition)) tool.Tool {
	d := tool.Definition{Name: name, Description: description, Safety: tool.Safe}
	if input != "" {
		d.InputSchema = tool.Schema(input)
	}
	for _, f := range more {
		f(&d)
	}
	return tool.Tool{Definition: d, Handler: h}
}

// garbled has a byte that UTF-8 does not have, between two good ends.
const garbled = "good \xff end"

// Content is a result with every kind of content, which [ContentTool] answers
// with.
func Content() tool.Result {
	return tool.Result{
		Content: []tool.Content{
			tool.TextContent{Text: "some <text> & more: é, 世界, \u2028"},
			tool.ImageContent{Data: []byte{0, 1, 0xfe, 0xff}, MIMEType: "image/png"},
			tool.AudioContent{Data: []byte{9, 8}, MIMEType: "audio/wav"},
			tool.ResourceContent{URI: "test://text", MIMEType: "text/plain", Text: "some text"},
			tool.ResourceContent{URI: "test://blob", MIMEType: "application/octet-stream", Blob: []byte{7}},
			tool.ResourceLink{URI: "test://link", Name: "link", Description: "A link.", MIMEType: "text/html"},
		},
		Structured: json.RawMessage(`{"answer":[42,null,"x"]}`),
	}
}

func echo(_ context.Context, c tool.Call) (tool.Result, error) {
	args := c.Arguments
	if len(args) == 0 {
		args = json.RawMessage(`{}`)
	}
	r := tool.Text(string(args))
	r.Structured = args
	return r, nil
}

func blob(_ context.Context, c tool.Call) (tool.Result, error) {
	var in struct{ Bytes int }
	if err := json.Unmarshal(c.Arguments, &in); err != nil {
		return tool.Result{}, err
	}
	if in.Bytes < 0 || in.Bytes > MaxBlob {
		return tool.Result{}, fmt.Errorf("%d bytes are not to be had", in.Bytes)
	}
	return tool.Result{Content: []tool.Content{
		tool.ResourceContent{URI: "test://blob", MIMEType: "application/octet-stream", Blob: pattern(in.Bytes)},
	}}, nil
}

// pattern is n bytes in which a missing or repeated piece shows.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}

func coded(_ context.Context, c tool.Call) (tool.Result, error) {
	var in struct{ Code tool.Code }
	if err := json.Unmarshal(c.Arguments, &in); err != nil {
		return tool.Result{}, err
	}
	return tool.Result{}, &tool.Error{Code: in.Code, Message: codedText, Hint: codedHint}
}
