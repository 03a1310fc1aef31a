package output

import (
	"strings"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Result prints a result, whose text is given. On a terminal it prints the text so that it
// cannot change the terminal; elsewhere it prints the text as it is, or the bytes of a result
// that is a single block of binary data.
func (o *Writer) Result(res tool.Result, text string) {
	if o.terminal {
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
