package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestRequestTimeout(t *testing.T) {
	t.Parallel()
	for in, want := range map[time.Duration]time.Duration{
		0: 0, 1: time.Millisecond, // up, as 0 would be for ever
		time.Second: time.Second, time.Second + 1: time.Second + time.Millisecond,
		-time.Second: -time.Second, math.MaxInt64: time.Duration(fromMilliseconds(math.MaxInt64)),
	} {
		r := request{timeout: in}
		b := encoded(t, func(b []byte) []byte { return appendRequest(b, &r) }, r.length())
		if got, err := parseRequest(b, nil); err != nil || got.timeout != want {
			t.Errorf("%v: %v, %v, want %v", in, got.timeout, err, want)
		}
	}
}

func TestAppendResponse(t *testing.T) {
	t.Parallel()
	for name, r := range answers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkResponse(t, &r, nil)
		})
	}
	for name, err := range map[string]error{
		"plain":   io.EOF,
		"empty":   errors.New(""),
		"hint":    &tool.Error{Code: tool.CodeNotFound, Message: "m", Hint: "h", Detail: "d"},
		"around":  fmt.Errorf("around: %w", &tool.Error{Code: tool.CodeCanceled, Hint: "h"}),
		"garbled": &tool.Error{Code: "\xff", Message: "\xff", Hint: "\xff"},
		"long":    errors.New(strings.Repeat("\xffx", 1<<13)),
	} {
		t.Run("error "+name, func(t *testing.T) {
			t.Parallel()
			checkResponse(t, nil, err)
			checkResponse(t, &tool.Result{Content: []tool.Content{tool.TextContent{Text: "dropped"}}}, err)
		})
	}
}

// moody is an error with a different text each time.
type moody struct{ asked int }

func (m *moody) Error() string { m.asked++; return strings.Repeat("!", m.asked) }

func TestSettle(t *testing.T) {
	t.Parallel()
	a := newAnswer(nil, &moody{})
	first := encoded(t, a.appendTo, a.length())
	if again := encoded(t, a.appendTo, a.length()); !reflect.DeepEqual(again, first) {
		t.Errorf("%q, then %q", first, again)
	}

	// The handler may keep its result, so it must not change.
	const bad = "a\xff"
	content := []tool.Content{
		tool.TextContent{Text: "good"}, tool.TextContent{Text: bad},
		tool.ImageContent{MIMEType: bad}, tool.AudioContent{MIMEType: bad},
		tool.ResourceContent{URI: bad, Text: bad}, tool.ResourceContent{MIMEType: bad, Text: bad, Blob: []byte(bad)},
		tool.ResourceLink{URI: bad, Name: bad, Description: bad, MIMEType: bad}, nil,
	}
	res := tool.Result{Content: content}
	checkResponse(t, &res, nil)
	assert.Equalf(t, content[1].(tool.TextContent).Text, bad, "the handler's own text became")
}

func TestCleanFast(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "a", "é", "\xff", "\xff\xffa\xff", "a\xc3", "\xed\xa0\x80",
		strings.Repeat("a", 99) + "\xff"} {
		if got, want := clean(s), strings.ToValidUTF8(s, "\uFFFD"); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
		if got, want := cleanView([]byte(s)), strings.ToValidUTF8(s, "\uFFFD"); got != want {
			t.Errorf("%q as bytes: %q, want %q", s, got, want)
		}
	}
}

// The allocations of a call are bounded. The test is not parallel, because it measures the
// process.
//
//nolint:paralleltest // see above
func TestPayloadAllocations(t *testing.T) {
	req, res := smallRequest(), tool.Text(strings.Repeat("a", 80))
	large := tool.Text(strings.Repeat("a", 64<<10))
	reqWire, resWire := appendRequest(nil, &req), appendResponse(nil, &res, nil)
	largeWire := appendResponse(nil, &large, nil)
	buf := make([]byte, 0, len(largeWire))
	for name, c := range map[string]struct {
		most float64
		f    func()
	}{
		"request length":  {0, func() { _ = req.length() }},
		"request append":  {0, func() { buf = appendRequest(buf[:0], &req) }},
		"request parse":   {1, func() { _, _ = parseRequest(reqWire, internSmall) }}, // the ID
		"response length": {0, func() { _ = responseLength(&res, nil) }},
		"response append": {0, func() { buf = appendResponse(buf[:0], &res, nil) }},
		"response parse":  {2, func() { _, _ = parseResponse(resWire) }}, // the list and its one block
		"large append":    {0, func() { buf = appendResponse(buf[:0], &large, nil) }},
		"large parse":     {2, func() { _, _ = parseResponse(largeWire) }},
	} {
		if got := testing.AllocsPerRun(100, c.f); got > c.most {
			t.Errorf("%s: %v allocations, want at most %v", name, got, c.most)
		}
	}
}

// responseLength returns about how many bytes appendResponse appends, if err has the same text
// each time; see [newAnswer].
func responseLength(res *tool.Result, err error) int {
	a := newAnswer(res, err)
	return a.length()
}

// appendResponse appends an answer as an ExecuteResponse: err or, if err is nil, res. It
// makes strings valid UTF-8 and leaves data and JSON as they are.
func appendResponse(b []byte, res *tool.Result, err error) []byte {
	a := newAnswer(res, err)
	return a.appendTo(b)
}

// The parts of a long answer are the answer, whatever its handler does with its memory meanwhile.
func TestPartsAreTheAnswer(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10, maxCopied, maxCopied + 1, 1 << 20} {
		text, data, structured := strings.Repeat("é", size), bytes.Repeat([]byte("d"), size), []byte(`"`+strings.Repeat("s", size)+`"`)
		a := newAnswer(&tool.Result{
			Content:    []tool.Content{tool.ImageContent{Data: data, MIMEType: "image/png"}, tool.TextContent{Text: text}, tool.ImageContent{Data: data}},
			Structured: structured, Meta: structured,
		}, nil)
		want := a.appendTo(nil)
		parts, n := a.parts()
		clear(data)
		clear(structured)
		if got := bytes.Join(parts, nil); !bytes.Equal(got, want) || n != len(want) {
			t.Errorf("%d: %d bytes, said to be %d, and not the %d", size, len(got), n, len(want))
		}
	}
}
