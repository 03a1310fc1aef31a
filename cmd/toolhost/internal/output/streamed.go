package output

import (
	"strings"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// streamed is the text of a result that was printed as it came.
type streamed struct{ text strings.Builder }

// Delta prints a piece of a result's text on a terminal, as it comes. [Writer.Result] prints what is
// left of the result, and [Writer.EndText] ends the line if there is none.
func (o *Writer) Delta(d tool.Delta) {
	if d.Reset {
		o.EndText()
		o.Printf("[the attempt failed, and is repeated]\n")
		return
	}
	o.streamed.text.WriteString(d.Text)
	o.Text(d.Text)
}

// EndText ends the line of a text that was printed as it came and is void, or of which nothing more
// comes.
func (o *Writer) EndText() {
	if text := o.streamed.text.String(); text != "" && !strings.HasSuffix(text, "\n") {
		_, _ = o.WriteString("\n")
	}
	o.streamed.text.Reset()
}
