package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// style is how a text looks where color is wanted.
type style string

const (
	plain  style = ""
	strong style = "1"
	dim    style = "2"
	bad    style = "31"
	notice style = "1;33"
	active style = "1;4"
	chosen style = "7"
)

// styled returns a text in a style.
func (s *Screen) styled(as style, text string) string {
	if as == plain || !s.Color || text == "" {
		return text
	}
	return "\x1b[" + string(as) + "m" + text + "\x1b[0m"
}

// fit returns a text in exactly so many columns of a terminal.
func fit(text string, width int, right bool) string {
	room := width - ansi.StringWidth(text)
	switch {
	case room < 0:
		text = ansi.Truncate(text, width, "…")
		return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text))) // half of a wide character
	case right:
		return strings.Repeat(" ", room) + text
	}
	return text + strings.Repeat(" ", room)
}

// Short returns a duration in at most six columns.
func Short(d time.Duration) string {
	minutes, hours := int(d.Minutes()), int(d.Hours())
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%dµs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", minutes, int(d.Seconds())%60)
	case d < 100*time.Hour:
		return fmt.Sprintf("%dh%02dm", hours, minutes%60)
	}
	return fmt.Sprintf("%dd", hours/24)
}

func took(ns int64) string {
	if ns == 0 {
		return "-"
	}
	return Short(time.Duration(ns))
}

// count returns a number in at most five columns.
func count(n int64) string { return scaled(float64(n), 1000, "kMGTP") }

func size(n int64) string { return scaled(float64(n), 1024, "KMGTP") }

func scaled(n, unit float64, letters string) string {
	if n < unit*10 || n < 10_000 {
		return fmt.Sprintf("%.0f", n)
	}
	for _, letter := range letters {
		if n /= unit; n < 9.95 {
			return fmt.Sprintf("%.1f%c", n, letter)
		} else if n < unit {
			return fmt.Sprintf("%.0f%c", n, letter)
		}
	}
	return "many"
}

func rate(perSecond float64) string {
	if perSecond > 0 && perSecond < 9.95 {
		return fmt.Sprintf("%.1f", perSecond)
	}
	return count(int64(perSecond + 0.5))
}

// sparks returns the newest numbers as bars, one a column.
func sparks(seconds []*daemonv1.Latency, of func(*daemonv1.Latency) int64, width int) string {
	seconds = seconds[max(0, len(seconds)-max(0, width)):]
	most := int64(1)
	for _, one := range seconds {
		most = max(most, of(one))
	}
	var b strings.Builder
	for _, one := range seconds {
		n := of(one)
		if n == 0 {
			b.WriteByte(' ')
		} else {
			b.WriteRune('▁' + rune(n*7/most)) //nolint:gosec // at most 7
		}
	}
	return b.String()
}
