package output

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Result prints a result, whose text is given. On a terminal it prints the text so that it
// cannot change the terminal, and indents it if it is the structured result; elsewhere it prints the text as it is, or the bytes of a result
// that is a single block of binary data.
func (o *Writer) Result(res tool.Result, text string) {
	if rest, ok := strings.CutPrefix(text, o.streamed.text.String()); ok && o.streamed.text.Len() > 0 {
		o.Text(rest)
		if !strings.HasSuffix(text, "\n") {
			_, _ = o.WriteString("\n")
		}
		return
	}
	o.EndText()
	if o.terminal {
		if isJSON(text, res.Structured) {
			text = PrettyJSON([]byte(text))
		}
		o.Text(text)
		if !strings.HasSuffix(text, "\n") {
			_, _ = o.WriteString("\n")
		}
		return
	}
	if blob, ok := singleBlob(res); ok {
		_, _ = o.Write(blob)
		return
	}
	_, _ = o.WriteString(text)
}

// isJSON reports whether a text is a JSON value, and not only the content of some file.
func isJSON(text string, value json.RawMessage) bool {
	var a, b bytes.Buffer
	return len(value) > 0 && len(text) <= maxShown && json.Compact(&a, []byte(text)) == nil &&
		json.Compact(&b, value) == nil && bytes.Equal(a.Bytes(), b.Bytes())
}

// singleBlob returns the data of a result that is a single block of data.
func singleBlob(res tool.Result) ([]byte, bool) {
	if len(res.Content) != 1 {
		return nil, false
	}
	switch c := res.Content[0].(type) {
	case tool.ResourceContent:
		return c.Blob, c.Blob != nil
	case tool.ImageContent:
		return c.Data, true
	case tool.AudioContent:
		return c.Data, true
	}
	return nil, false
}
