package main

import (
	"strings"
	"unicode/utf8"
)

// table is lines of cells that stand under each other. Its first line is the
// heading.
type table [][]string

func (t *table) add(cells ...string) { *t = append(*t, cells) }

// leastLast is how much of the last column is shown even where the terminal is
// too narrow for it, in characters.
const leastLast = 20

// table writes the table. On a terminal the last column is cut so that each row
// stays on one line.
func (o *output) table(t table) {
	const gap = "  "
	widths := make([]int, len(t[0]))
	for _, row := range t {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	before := 0
	for _, w := range widths[:len(widths)-1] {
		before += w + len(gap)
	}
	for _, row := range t {
		var line strings.Builder
		for i, cell := range row {
			if i == len(row)-1 {
				if o.width > 0 {
					cell = shorten(cell, max(leastLast, o.width-before))
				}
				line.WriteString(cell)
				break
			}
			line.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)) + gap)
		}
		o.printf("%s\n", strings.TrimRight(line.String(), " "))
	}
}
