package output

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func structured(text, value string) tool.Result {
	res := tool.Text(text)
	res.Structured = json.RawMessage(value)
	return res
}

func TestResultOnATerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		res  tool.Result
		want string
	}{
		{tool.Text("a\x1b[2Jb\u202ec\nd"), "a\\x1b[2Jb\\u202ec\nd\n"},
		{tool.Text("line\n"), "line\n"},
		{tool.Text(`{"a":[1]}`), `{"a":[1]}` + "\n"},
		{structured(`{"a":[1.0,"\u009b"]}`, `{"a": [1.0,"\u009b"]}`), "{\n  \"a\": [\n    1.0,\n    \"\\u009b\"\n  ]\n}\n"},
		{structured(`one`, `"one"`), "one\n"},
		{tool.Result{Content: []tool.Content{tool.ResourceContent{URI: "x:y", Blob: []byte{0}}}}, "[resource x:y , 1 bytes]\n"},
	} {
		var b bytes.Buffer
		(&Writer{w: &b, terminal: true}).Result(c.res, c.res.Text())
		equal(t, "the text", b.String(), c.want)
	}
}
