package control_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// answers adds a tool that gives a result.
func (s *service) answers(t *testing.T, name string, res tool.Result) {
	t.Helper()
	require.NoError(t, s.Host.Register(tool.Tool{
		Definition: tool.Definition{Name: name, Description: "Answers.", Safety: tool.Safe},
		Handler:    func(context.Context, tool.Call) (tool.Result, error) { return res, nil },
	}))
}

// A result comes over the socket as it was, however large its parts are and whatever bytes
// they have.
func TestPartsOfAnAnswer(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	long := strings.Repeat("世\x01\n", 30_000)
	for name, res := range map[string]tool.Result{
		"nothing":    {},
		"structured": {Structured: []byte(`{"a": "` + strings.Repeat("é", 40_000) + `"}`)},
		"extra": {Meta: []byte(`{"b": 9007199254740993, "a": "` + strings.Repeat("é", 40_000) + `"}`), Content: []tool.Content{
			tool.TextContent{Text: "t", Extra: `{"annotations":{"audience":["user"]}}`},
			tool.ImageContent{Data: []byte{1}, Extra: `{"_meta":{}}`}, tool.AudioContent{Data: []byte{1}, Extra: `{"_meta":{}}`},
			tool.ResourceContent{URI: "x:y", Extra: `{"_meta":{}}`}, tool.ResourceLink{URI: "x:y", Extra: `{"title":"T"}`},
		}},
		"many": {IsError: true, Structured: []byte(`[ 1]`), Content: []tool.Content{
			tool.TextContent{}, tool.TextContent{Text: long}, tool.TextContent{Text: strings.Repeat("\x01\"", 70_000)},
			tool.TextContent{Text: "bad \uFFFD bytes"},
			tool.ImageContent{}, tool.ImageContent{Data: []byte(long), MIMEType: "image/png"}, tool.AudioContent{Data: []byte{0}, MIMEType: "<&>"},
			tool.ResourceContent{URI: "x:y", Blob: []byte{}}, tool.ResourceContent{URI: "x:y", Blob: bytes.Repeat([]byte{7}, 64<<10)},
			tool.ResourceContent{URI: long, Text: long, MIMEType: "a/b"}, tool.ResourceLink{URI: "x:z", Name: "n", Description: long, MIMEType: "t"},
		}},
	} {
		d.answers(t, name, res)
		call := control.Call{Name: name}
		want, got := d.Run(t.Context(), control.Caller{}, call, nil), d.client().Call(t.Context(), call, nil)
		if !reflect.DeepEqual(got.Result, want.Result) {
			t.Errorf("%s: the result is %.300q,\nwant %.300q", name, fmt.Sprint(got.Result), fmt.Sprint(want.Result))
		}
		want.Outcome.ID, want.Outcome.Metadata = got.Outcome.ID, got.Outcome.Metadata
		if got.Err != nil || !reflect.DeepEqual(got.Outcome, want.Outcome) {
			t.Errorf("%s: the outcome is %.300q, %v,\nwant %.300q", name, fmt.Sprint(got.Outcome), got.Err, fmt.Sprint(want.Outcome))
		}
	}
}

// A caller that does not read its answers holds only half of what the daemon keeps.
func TestAnswersThatAreNotRead(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	d.answers(t, "large", tool.Text(strings.Repeat("x", 60<<20)))
	begin := func() *bufio.Reader {
		conn := d.connect()
		require.Must(io.WriteString(conn, stream("Call", `{"name": "large"}`)))(t)
		return bufio.NewReaderSize(conn, 1<<10)
	}
	line := ""
	for range 3 {
		in := begin()
		for line = ""; !strings.Contains(line, `"ended":`); {
			text, err := in.ReadSlice('\n')
			if line = string(text); err != nil && !errors.Is(err, bufio.ErrBufferFull) {
				t.Fatal(err)
			}
		}
	}
	if !strings.Contains(line, `"resource_exhausted"`) || !strings.Contains(line, "tool large ran") {
		t.Errorf("the third answer is %.300q", line)
	}
	d.serves()
}

// The same holds for what they send.
func TestArgumentsThatAreHeld(t *testing.T) {
	t.Parallel()
	d := newDaemon(t, (*control.Server).Patient)
	c := d.client()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	large := make([]byte, control.MaxArguments)
	ended := make(chan error, 10)
	call := func() {
		go func() { ended <- c.Call(ctx, control.Call{Name: "hold", Arguments: large}, nil).Err }()
	}
	for range 4 {
		call()
		select {
		case <-d.began:
		case err := <-ended:
			t.Fatalf("a call ends with %v", err)
		}
	}
	call()
	if err := <-ended; tool.CodeOf(err) != tool.CodeResourceExhausted {
		t.Errorf("the fifth call ends with %v", err)
	}
	d.serves()
	cancel()
	for range 4 {
		if err := <-ended; tool.CodeOf(err) != tool.CodeCanceled {
			t.Errorf("a call ends with %v", err)
		}
	}
}
