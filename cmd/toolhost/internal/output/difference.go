package output

import (
	"fmt"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// maxLines bounds the lines of a difference that are shown.
const maxLines = 100

// Difference returns what lines became, a line each that begins with - or +. Was and is print a line
// by its index; those that are the same are left out.
func Difference(before, after []string, was, is func(int) string) (out []string) {
	gone, came := 0, 0
	add := func(sign string, line func(int) string, at int) {
		if len(out) < maxLines {
			out = append(out, sign+" "+line(at))
		}
	}
	for _, d := range lcs.DiffLines(before, after) {
		for i := d.Start; i < d.End; i++ {
			add("-", was, i)
		}
		for i := d.ReplStart; i < d.ReplEnd; i++ {
			add("+", is, i)
		}
		gone, came = gone+d.End-d.Start, came+d.ReplEnd-d.ReplStart
	}
	if gone+came > maxLines {
		out = append(out, fmt.Sprintf("… of %d lines that went and %d that came", gone, came))
	}
	return out
}
