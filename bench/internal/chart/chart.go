// Package chart draws horizontal bars as SVG, to be read on light and dark pages.
package chart

import (
	"encoding/xml"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Panel is a group of bars on one scale.
type Panel struct {
	Title string
	Bars  []Bar
}

// Bar is one value. Those of the project itself (Own) stand out.
type Bar struct {
	Label, Text string
	Value       float64
	Own         bool
}

// The measures of the drawing, in its own units.
const (
	width    = 860
	margin   = 24
	letter   = 8  // the width of a character, generously
	values   = 70 // the room to the right of the longest bar, for its text
	row      = 28
	thick    = 18
	gap      = 26 // above a panel
	headline = 58
)

// style follows the reader's setting; the background is drawn, so that it also
// holds where a page does not.
const style = `
  .page { fill: #ffffff; stroke: #d0d7de }
  text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
  .title { font-size: 16px; font-weight: 600 }
  .head { font-weight: 600 }
  .note { fill: #59636e; font-size: 12px }
  .own { fill: #0969da }
  .other { fill: #afb8c1 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; stroke: #3d444d }
    text { fill: #f0f6fc }
    .note { fill: #9198a1 }
    .own { fill: #4493f8 }
    .other { fill: #656c76 }
  }
`

// Draw returns the text of an SVG file.
func Draw(title, note string, panels []Panel) string {
	height := headline + margin
	for _, p := range panels {
		height += gap + row + row*len(p.Bars)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n",
		width, height, width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n<desc>%s</desc>\n<style>%s</style>\n", Escape(title), Escape(describe(panels)), style)
	fmt.Fprintf(&b, `<rect class="page" x=".5" y=".5" width="%d" height="%d" rx="8"/>`+"\n", width-1, height-1)
	write(&b, "title", margin, margin+12, title)
	write(&b, "note", margin, margin+32, note)
	bars := barsBegin(panels)
	y := headline
	for _, p := range panels {
		y += gap
		write(&b, "head", margin, y+14, p.Title)
		y += row
		y = p.draw(&b, bars, y)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// barsBegin returns the x at which all bars begin, to the right of the longest label.
func barsBegin(panels []Panel) int {
	longest := 0
	for _, p := range panels {
		for _, bar := range p.Bars {
			longest = max(longest, utf8.RuneCountInString(bar.Label))
		}
	}
	return margin + letter*longest
}

// draw writes the bars, which begin at x and below y, and returns the y at which they end.
func (p Panel) draw(b *strings.Builder, x, y int) int {
	longest := 0.
	for _, bar := range p.Bars {
		longest = max(longest, bar.Value)
	}
	for _, bar := range p.Bars {
		length := 1. // so that it can be seen
		if longest > 0 {
			length = max(length, bar.Value/longest*float64(width-margin-x-values))
		}
		class := "other"
		if bar.Own {
			class = "own"
		}
		write(b, "", margin, y+14, bar.Label)
		fmt.Fprintf(b, `<rect class="%s" x="%d" y="%d" width="%.1f" height="%d" rx="3"/>`+"\n", class, x, y, length, thick)
		write(b, "", x+8+int(length), y+14, bar.Text)
		y += row
	}
	return y
}

func write(b *strings.Builder, class string, x, y int, text string) {
	if class != "" {
		class = ` class="` + class + `"`
	}
	fmt.Fprintf(b, `<text%s x="%d" y="%d">%s</text>`+"\n", class, x, y, Escape(text))
}

// describe returns the drawing in words, for readers who do not see it.
func describe(panels []Panel) string {
	var b strings.Builder
	for i, p := range panels {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(p.Title)
		for _, bar := range p.Bars {
			fmt.Fprintf(&b, ", %s %s", bar.Label, bar.Text)
		}
	}
	return b.String()
}

// Escape escapes text for XML.
func Escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return b.String()
}
