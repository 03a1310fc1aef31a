package chart_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/bench/internal/chart"
)

func TestEscape(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"µs ≤ 5":           "µs ≤ 5",
		`<a href="x">&'`:   "&lt;a href=&#34;x&#34;&gt;&amp;&#39;",
		"a control: \x01":  "a control: \ufffd",
		"</text><script/>": "&lt;/text&gt;&lt;script/&gt;",
	} {
		if got := chart.Escape(in); got != want {
			t.Errorf("Escape(%q) = %q, want %q", in, got, want)
		}
	}
}

// Whatever it is given, what is drawn is XML, and no text becomes an element.
func TestDraw(t *testing.T) {
	t.Parallel()
	evil := `</text><script>"'&`
	svg := chart.Draw(evil, evil, []chart.Panel{
		{Title: evil, Bars: []chart.Bar{{Label: evil, Text: evil, Value: 2, Own: true}, {Label: "none"}}},
		{Title: "empty"},
		{Title: "zeros", Bars: []chart.Bar{{Label: "nothing"}}},
	})
	bars := 0
	for dec := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in:\n%s", err, svg)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch start.Name.Local {
		case "script":
			t.Error("a text became an element")
		case "rect":
			bars++
		}
	}
	if bars != 4 {
		t.Errorf("%d rectangles, want the page and three bars", bars)
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Error("a bar has no length")
	}
}

// A label of 35 characters, at about 7 units each, ends before the bars begin.
func TestBarsBeginAfterTheLabels(t *testing.T) {
	t.Parallel()
	label := strings.Repeat("m", 35)
	svg := chart.Draw("", "", []chart.Panel{{Bars: []chart.Bar{{Label: label, Value: 1}, {Label: "short", Value: 2}}}})
	if got := strings.Count(svg, `class="other" x="304"`); got != 2 {
		t.Errorf("%d bars begin at 304, want 2:\n%s", got, svg)
	}
}
