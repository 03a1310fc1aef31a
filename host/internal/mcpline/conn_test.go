package mcpline

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// TestMessagesAreTheSDKs demands that messages are decoded and encoded as the SDK does.
func TestMessagesAreTheSDKs(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"n":9007199254740993,"s":"\u00e9<>"}}}`,
		`{"jsonrpc":"2.0","id":"a<b","method":"ping"}`,
		`{"jsonrpc":"2.0","id":1.0,"method":"ping","params":null}`,
		`{"jsonrpc":"2.0","id":-9007199254740991,"method":"p","params":{"a":{"b":1,"c":"\\\"b\":"},"d":[{"a":1},{"a":2}],"b":[]},"x":{"p":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/x","params":{"a":[1,{}]}}`,
		`{"jsonrpc":"2.0","id":1,"method":""}`,
		`{"jsonrpc":"2.0","id":1,"METHOD":"ping","method":"pong","Params":{}}`,
		`{"jsonrpc":"2.0","id":1,"METHOD":"ping"}`,
		`{"jsonrpc":"2.0","id":7,"result":{"content":[]}}`,
		`{"jsonrpc":"2.0","id":7,"result":null}`,
		`{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no","data":{"a":1}}}`,
		`{"jsonrpc":"2.0","id":7}`,
		`{"jsonrpc":"2.0","result":{}}`,
		`{"jsonrpc":"1.0","id":7,"method":"ping"}`,
		`{"id":7,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`,
		`{"jsonrpc":"2.0","id":7,"method":5}`,
		`{"jsonrpc":"2.0","id":7,"method":null}`,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":}}`,
		"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"params\":{\"a\":\"\x01\"}}",
		`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"\x"}}`, `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":01}}`,
		`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":[1,]}}`, `{"jsonrpc":"2.0","id":7,"method":"ping","x":{"a":-}}`,
		`{"jsonrpc":"2.0","id":7`, `"text"`, `null`, `[]`, `{}`, ``,
		`{"jsonrpc":"2.0","id":7,"method":"x","params":` + strings.Repeat("[", maxDepth-1) + strings.Repeat("]", maxDepth-1) + `}`,
		`{"jsonrpc":"2.0","id":7,"method":"x","params":` + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth) + `}`,
		`{"jsonrpc":"2.0","id":7,"method":"x","params":["\"` + strings.Repeat("[", 2*maxDepth) + `"]}`,
		`{"jsonrpc":"2.0","id":7,"method":"x","params":[` + strings.Repeat("[],", 2*maxDepth) + `[]]}`,
	} {
		short := text[:min(len(text), 120)]
		want, wantErr := jsonrpc.DecodeMessage([]byte(text))
		got, err := Decode([]byte(text))
		if (err == nil) != (wantErr == nil) {
			t.Errorf("%s: %v, the SDK: %v", short, err, wantErr)
			continue
		}
		if err != nil {
			continue
		}
		if !json.Valid([]byte(text)) {
			t.Errorf("%s is not JSON, and a message", short)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %#v, the SDK: %#v", short, got, want)
		}
		line, err := Encode(got)
		theirs, theirErr := jsonrpc.EncodeMessage(want)
		var a, b any
		if err != nil || theirErr != nil || json.Unmarshal(line, &a) != nil || json.Unmarshal(theirs, &b) != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s: encoded as %s (%v), by the SDK as %s (%v)", short, line, err, theirs, theirErr)
		}
	}
	if _, err := Decode([]byte(`{"jsonrpc":"2.0","id":7,"method":"ping"} {}`)); err == nil {
		t.Error("two values are a message")
	}
	line, err := Encode(&jsonrpc.Request{Method: "x", Params: json.RawMessage("{\n \"a\": \"\\n\"\r\n}")})
	if err != nil || strings.ContainsAny(string(line), "\r\n") {
		t.Errorf("a message of several lines is %q (%v)", line, err)
	}
}

// Programs do not agree on which member or ID these messages have.
func TestMessagesThatAreTwoAreNone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`:                                               "an integer",
		`{"jsonrpc":"2.0","id":9223372036854775808,"method":"ping"}`:                               "an integer",
		`{"jsonrpc":"2.0","id":-9007199254740993,"method":"ping"}`:                                 "an integer",
		`{"jsonrpc":"2.0","id":1e300,"method":"ping"}`:                                             "an integer",
		`{"jsonrpc":"2.0","id":1,"method":"ping","method":"x"}`:                                    `"method" is twice`,
		`{"jsonrpc":"2.0","id":1,"m\u0065thod":"ping","method":"x"}`:                               `"method" is twice`,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`:                                          `"id" is twice`,
		`{"jsonrpc":"2.0","method":"x","params":{},"params":{}}`:                                   `"params" is twice`,
		`{"jsonrpc":"2.0","params":{"name":"a","name":"b"},"method":"x"}`:                          `"name" is twice`,
		`{"jsonrpc":"2.0","method":"x","params":{"name":"a","arguments":{"x":[{}]}, "name" :"b"}}`: `"name" is twice`,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"\xff\":1,\"\xfe\":2}":                 "is twice",
		manyMembers(9, 9):   `"m8" is twice`,
		manyMembers(30, 5):  `"m4" is twice`,
		manyMembers(30, 30): `"m29" is twice`,
	} {
		if m, err := Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %s", text, m, err, want)
		}
	}
}

// manyMembers is a message with so many members and one of them again.
func manyMembers(n, again int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"m%d":{"m%d":1,"m%d":2},`, i, i, i)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"x","params":{%s"m%d":0}}`, &b, again-1)
}

func BenchmarkDecode(b *testing.B) {
	text := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"bytes": 12345, "text": "Read the file"}}}`)
	b.ReportAllocs()
	for b.Loop() {
		_, err := Decode(text)
		require.NoError(b, err)
	}
}

// TestConn reads messages and batches, and answers them.
func TestConn(t *testing.T) {
	t.Parallel()
	in, feed := io.Pipe()
	answers, out := io.Pipe()
	conn, refused := New(in, out), 0
	conn.Check = func(_ []byte, _ []jsonrpc.Message, err error) (bool, error) {
		if err != nil {
			refused++
		}
		return err == nil, nil
	}
	go func() {
		_, _ = io.WriteString(feed, "\n"+`{"jsonrpc":"2.0","id":1,"method":"a"}`+"\r\n"+
			`[{"jsonrpc":"2.0","id":2,"method":"b"},{"jsonrpc":"2.0","method":"c"},{"jsonrpc":"2.0","id":3,"method":"d"}]`+"\n"+
			`[]`+"\n"+`[{"jsonrpc":"2.0","id":4,"method":"e"},{"jsonrpc":"2.0","id":4,"method":"f"}]`+"\n"+
			`[{"jsonrpc":"2.0","id":2,"method":"g"}]`+"\n"+`{"jsonrpc":"2.0","id":5,"method":"h"}`+"\n")
		_ = feed.Close()
	}()
	var methods []string
	for {
		msg, err := conn.Read(context.Background())
		if err == io.EOF { //nolint:errorlint // as readers return it
			break
		}
		require.NoError(t, err)
		methods = append(methods, msg.(*jsonrpc.Request).Method)
	}
	if got := strings.Join(methods, ""); got != "abcdh" || refused != 3 {
		t.Errorf("read %s, and %d lines are refused", got, refused)
	}
	go func() {
		var all []jsonrpc.Message
		for _, id := range []float64{2, 1, 3, 5} {
			id, _ := jsonrpc.MakeID(id)
			all = append(all, &jsonrpc.Response{ID: id, Result: json.RawMessage(`{}`)})
		}
		assert.NoError(t, conn.WriteAll(all[:2]))
		assert.NoError(t, conn.Write(context.Background(), all[2]))
		assert.NoError(t, conn.Write(context.Background(), all[3]))
		_ = conn.Close()
	}()
	scan := bufio.NewScanner(answers)
	var lines []string
	for scan.Scan() {
		lines = append(lines, scan.Text())
	}
	want := []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
		`[{"jsonrpc":"2.0","id":2,"result":{}},{"jsonrpc":"2.0","id":3,"result":{}}]`,
		`{"jsonrpc":"2.0","id":5,"result":{}}`,
	}
	if !reflect.DeepEqual(lines, want) {
		t.Errorf("wrote %q", lines)
	}
}

// slowWriter is a client that reads nothing until it is told, and counts writes.
type slowWriter struct {
	read    chan struct{}
	writing atomic.Int32
	writes  []string
	err     error
}

func (w *slowWriter) Write(b []byte) (int, error) {
	if w.writing.Add(1) > 1 {
		return 0, errors.New("two write at a time")
	}
	defer w.writing.Add(-1)
	<-w.read
	w.writes = append(w.writes, string(b))
	return len(b), w.err
}

func (*slowWriter) Close() error { return nil }

// Lines that come while one is written are one write, in their order. A long one, and one behind much, waits for its turn, and is
// written when Write returns.
func TestLinesAreWrittenTogether(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, maxQueued - 1, maxQueued, 3 * maxQueued} {
		synctest.Test(t, func(t *testing.T) {
			w := &slowWriter{read: make(chan struct{})}
			c := New(io.NopCloser(strings.NewReader("")), w)
			write := func(line string) { assert.NoError(t, c.WriteLine([]byte(line))) }
			done := 0
			go write("first")
			synctest.Wait()
			for _, line := range []string{"a", "b", strings.Repeat("x", size), "c"} {
				go func() { write(line); done++ }()
				synctest.Wait()
			}
			want := map[int]int{1: 4, maxQueued - 1: 3, maxQueued: 3, 3 * maxQueued: 3}[size]
			assert.Equalf(t, done, want, "returned at once, with a line of %d bytes", size)
			close(w.read)
			synctest.Wait()
			assert.Equalf(t, done, 4, "returned then")
			got := strings.Join(w.writes, "")
			whole := strings.HasPrefix(got, "first\na\nb\n") && strings.Count(got, "\n") == 5 && strings.HasSuffix(got, "\n")
			if strings.Count(got, "x") != size || !whole {
				t.Errorf("with a line of %d bytes, it wrote %.40q", size, got)
			}
			if len(w.writes) > 4 || size == 1 && len(w.writes) > 2 {
				t.Errorf("with a line of %d bytes, %d writes", size, len(w.writes))
			}
			w.err = io.ErrClosedPipe
			for range 2 {
				assert.ErrorIs(t, c.WriteLine([]byte("lost")), io.ErrClosedPipe)
			}
		})
	}
}
