package output

import "fmt"

// Bounds of a difference: the lines that are compared one by one, on either side, and those that
// are shown.
const (
	maxCompared = 1000
	maxLines    = 100
)

// Difference returns what lines became, a line each that begins with - or +. Shown is how a line is
// printed, by its index; those that are the same are left out.
func Difference(before, after []string, was, is func(int) string) (out []string) {
	head := 0
	for head < min(len(before), len(after)) && before[head] == after[head] {
		head++
	}
	tail := 0
	for tail < min(len(before), len(after))-head && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	a, b := before[head:len(before)-tail], after[head:len(after)-tail]
	kept := commonLines(a, b)
	add := func(sign string, line string) {
		if len(out) < maxLines {
			out = append(out, sign+" "+line)
		} else if len(out) == maxLines {
			out = append(out, fmt.Sprintf("… of %d and %d lines", len(a), len(b)))
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || kept(i+1, j) >= kept(i, j+1)):
			add("-", was(head+i))
			i++
		default:
			add("+", is(head+j))
			j++
		}
	}
	return out
}

// commonLines returns how many lines the rests of a and b from two indices on have in common, in
// the same order; 0 if they have too many.
func commonLines(a, b []string) func(i, j int) int {
	if len(a) > maxCompared || len(b) > maxCompared {
		return func(int, int) int { return 0 }
	}
	width := len(b) + 1
	table := make([]int, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				table[i*width+j] = table[(i+1)*width+j+1] + 1
			} else {
				table[i*width+j] = max(table[(i+1)*width+j], table[i*width+j+1])
			}
		}
	}
	return func(i, j int) int { return table[i*width+j] }
}
