package output

import (
	"bytes"
	"testing"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestResultOnATerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		res  tool.Result
		want string
	}{
		{tool.Text("a\x1b[2Jb\u202ec\nd"), "a\\x1b[2Jb\\u202ec\nd\n"},
		{tool.Text("line\n"), "line\n"},
		{tool.Result{Content: []tool.Content{tool.ResourceContent{URI: "x:y", Blob: []byte{0}}}}, "[resource x:y , 1 bytes]\n"},
	} {
		var b bytes.Buffer
		(&Writer{w: &b, terminal: true}).Result(c.res, c.res.Text())
		equal(t, "the text", b.String(), c.want)
	}
}
