package tooltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The tools of [Fixture].
const (
	EchoTool    = "test.echo"    // returns its arguments, as text and structured
	ContentTool = "test.content" // returns [Content]
	BlobTool    = "test.blob"    // returns a resource with the number of bytes in "bytes"
	GarbledTool = "test.garbled" // returns text that is not UTF-8
	SessionTool = "test.session" // returns the session of the call
	FailTool    = "test.fail"    // returns a result with IsError
	ErrorTool   = "test.error"   // returns a plain error
	CodedTool   = "test.coded"   // returns a tool.Error with the code in "code"
	PanicTool   = "test.panic"   // panics; a provider need not serve it
	StreamTool  = "test.stream"  // streams [StreamedText] in pieces, and returns one more block
	WaitTool    = "test.wait"    // returns when its context ends, and not before
	WaitedTool  = "test.waited"  // returns how many calls of test.wait with a "key" have begun and ended
)

const (
	failText  = "failed as asked"
	errorText = "broken as asked"
	codedText = "refused as asked"
	codedHint = "ask for something else"
	panicText = "panicked as asked"
)

// MaxBlob is the largest content that [BlobTool] returns, in bytes.
const MaxBlob = 16 << 20

// pollTime is how long a call of [WaitedTool] waits for the requested counts.
const pollTime = 50 * time.Millisecond

// Fixture returns the tools that a provider under test serves. All of them are safe and
// need no permission, so that a host runs them without approval. Each call of Fixture
// returns tools with a separate count of the calls of [WaitTool].
func Fixture() []tool.Tool {
	w := newWaits()
	return []tool.Tool{
		fixture(EchoTool, "Answers with its arguments.", `{"type":"object"}`, echo, func(d *tool.Definition) {
			d.OutputSchema = tool.Schema(`{"type":"object"}`)
			d.Title, d.Categories = "Echo", []string{"test"}
		}),
		fixture(ContentTool, "Returns every kind of content.", "",
			func(context.Context, tool.Call) (tool.Result, error) { return Content(), nil }),
		fixture(BlobTool, "Returns as many bytes as the argument says.", fmt.Sprintf(
			`{"type":"object","properties":{"bytes":{"type":"integer","minimum":0,"maximum":%d}},"required":["bytes"]}`,
			MaxBlob), blob),
		fixture(GarbledTool, "Returns text that is not UTF-8.", "",
			func(context.Context, tool.Call) (tool.Result, error) { return tool.Text(garbled), nil }),
		fixture(SessionTool, "Returns the session of the call.", "",
			func(_ context.Context, c tool.Call) (tool.Result, error) { return tool.Text(c.Session), nil }),
		fixture(FailTool, "Returns a result that says that the tool failed.", "",
			func(context.Context, tool.Call) (tool.Result, error) { return tool.Failure(failText), nil }),
		fixture(ErrorTool, "Returns an error.", "", func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{}, errors.New(errorText)
		}),
		fixture(CodedTool, "Returns an error with a code.",
			`{"type":"object","properties":{"code":{"type":"string"}},"required":["code"]}`, coded),
		fixture(StreamTool, "Streams its text.", "", stream),
		fixture(PanicTool, "Panics.", "", func(context.Context, tool.Call) (tool.Result, error) { panic(panicText) }),
		fixture(WaitTool, "Waits until its context ends.",
			`{"type":"object","properties":{"key":{"type":"string"}},"required":["key"]}`, w.wait),
		fixture(WaitedTool, "Counts the calls of test.wait that have begun and ended; waits briefly for the given counts.",
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

// garbled contains a byte that is not valid in UTF-8.
const garbled = "good \xff end"

// Content returns the result of [ContentTool], which has every kind of content.
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
		return tool.Result{}, fmt.Errorf("%d bytes are out of range, use 0 to %d", in.Bytes, MaxBlob)
	}
	return tool.Result{Content: []tool.Content{
		tool.ResourceContent{URI: "test://blob", MIMEType: "application/octet-stream", Blob: pattern(in.Bytes)},
	}}, nil
}

// StreamedText is the first block of the result of [StreamTool].
var StreamedText = strings.Repeat("a line of text, é, 世界 and 🜚\n", 4000)

// streamedLast is its last block.
const streamedLast = "the end"

// stream writes pieces of some sizes that end anywhere, also within characters.
func stream(ctx context.Context, _ tool.Call) (tool.Result, error) {
	out := tool.Stream(ctx)
	for rest, i := []byte(StreamedText), 0; len(rest) > 0; i++ {
		n := min(len(rest), []int{1, 2, 7, 300, 5000, 40_000}[i%6])
		if _, err := out.Write(rest[:n]); err != nil {
			return tool.Result{}, err
		}
		rest = rest[n:]
	}
	return tool.Text(streamedLast), nil
}

// pattern returns n bytes that differ if a piece is missing or repeated.
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
	return tool.Result{}, tool.Errorf(in.Code, "%s", codedText).Try(codedHint)
}
