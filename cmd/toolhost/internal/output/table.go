package output

import (
	"strings"
	"unicode/utf8"
)

// Table is rows of cells in columns. Its first row is the heading.
type Table [][]string

// Add appends a row.
func (t *Table) Add(cells ...string) { *t = append(*t, cells) }

// AddFilled appends a row whose cells are filled to a width, on as many lines as that takes: all
// of it can be read.
func (t *Table) AddFilled(width int, cells ...string) {
	lines := make([][]string, len(cells))
	height := 1
	for i, cell := range cells {
		lines[i] = strings.Split(Fill(cell, width), "\n")
		height = max(height, len(lines[i]))
	}
	for n := range height {
		row := make([]string, len(cells))
		for i := range cells {
			if n < len(lines[i]) {
				row[i] = lines[i][n]
			}
		}
		t.Add(row...)
	}
}

// minLastColumn is how much of the last column is shown even if the terminal is too narrow
// for it, in characters.
const minLastColumn = 20

// minShownBeside is how much room the last column has to have next to the others, in
// characters. With less, what does not fit has a line of its own.
const minShownBeside = 40

// Table prints a table. On a terminal the last column is cut so that each row fits on a line,
// or, if that leaves little of it, on two.
func (o *Writer) Table(t Table) {
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
		below := ""
		for i, cell := range row {
			if i == len(row)-1 {
				room := max(minLastColumn, o.width-before)
				switch {
				case o.width == 0 || utf8.RuneCountInString(cell) <= room:
				case room < minShownBeside && o.width >= minShownBeside:
					below, cell = "    "+Shorten(cell, o.width-4)+"\n", ""
				default:
					cell = Shorten(cell, room)
				}
				line.WriteString(cell)
				break
			}
			line.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)) + gap)
		}
		o.Printf("%s\n%s", strings.TrimRight(line.String(), " "), below)
	}
}

// Field is a line of a description.
type Field struct{ Name, Value string }

// Fields prints a description; fields without a value are left out.
func (o *Writer) Fields(all []Field) {
	for _, f := range all {
		if f.Value != "" {
			o.Printf("%-14s %s\n", f.Name+":", FirstLine(f.Value))
		}
	}
}
