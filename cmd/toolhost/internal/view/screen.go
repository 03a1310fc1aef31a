package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// What a screen has to have.
const (
	MinWidth  = 40
	MinHeight = 10
)

// Screen is how data is looked at: the lists, or one text.
type Screen struct {
	Title  string // what the data is of
	State  string // what is to be known of the data, such as that it is old; empty: nothing
	Note   string // on the last line, in place of the keys; empty: these
	Filter string
	Color  bool
	Pane   *Pane // shown in place of the lists; nil: none

	focus  int
	order  [len(lists)]int
	cursor [len(lists)]int    // the chosen row
	chosen [len(lists)]string // its ID, which it is found by when it has moved
	page   int                // how many rows of the list in focus were drawn
}

// Pane is a text to be read.
type Pane struct {
	Title  string
	Lines  []string
	Follow bool // its end is shown, and what is added
	top    int  // the first line shown
}

// keys are what is shown in the last line, the most important first.
var keys = []string{"? help", "q quit", "enter whole", "l log", "a answer", "r restart", "d disable", "/ filter", "s sort"}

// Move does what a key does to the screen alone, and reports whether it does anything.
func (s *Screen) Move(d *Data, key string) bool {
	at := &s.cursor[s.focus]
	last := len(s.rowsOf(d, s.focus)) - 1
	if s.Pane != nil {
		s.Pane.Follow = s.Pane.Follow && (key == "end" || key == "G")
		at, last = &s.Pane.top, len(s.Pane.Lines)-1
	}
	switch key {
	case "up", "k":
		*at--
	case "down", "j":
		*at++
	case "pgup", "ctrl+b":
		*at -= s.page
	case "pgdown", "ctrl+f":
		*at += s.page
	case "home", "g":
		*at = 0
	case "end", "G":
		*at = last
	case "tab", "shift+tab", "1", "2", "3", "4", "s":
		if s.Pane != nil {
			return false
		}
		switch key {
		case "s":
			s.order[s.focus] = (s.order[s.focus] + 1) % len(lists[s.focus].orders)
			s.Note = "sorted by " + lists[s.focus].orders[s.order[s.focus]].name
		case "tab":
			s.focus = (s.focus + 1) % len(lists)
		case "shift+tab":
			s.focus = (s.focus + len(lists) - 1) % len(lists)
		default:
			s.focus = int(key[0] - '1')
		}
		return true
	default:
		return false
	}
	*at = max(0, min(*at, last))
	if s.Pane == nil {
		s.chosen[s.focus] = ""
	}
	return true
}

// Chosen returns the chosen row of the list in focus; false: it has none.
func (s *Screen) Chosen(d *Data) (Row, bool) {
	rows := s.rowsOf(d, s.focus)
	if len(rows) == 0 {
		return Row{}, false
	}
	return rows[s.choose(rows, s.focus)], true
}

// choose returns the index of the chosen row, which may have moved.
func (s *Screen) choose(rows []Row, of int) int {
	at := slices.IndexFunc(rows, func(r Row) bool { return r.ID == s.chosen[of] && r.ID != "" })
	if at < 0 {
		at = max(0, min(s.cursor[of], len(rows)-1))
	}
	s.cursor[of] = at
	if len(rows) > 0 {
		s.chosen[of] = rows[at].ID
	}
	return at
}

// Draw returns the lines of a screen, each of at most its width.
func (s *Screen) Draw(d *Data, width, height int) []string {
	if width < MinWidth || height < MinHeight {
		text := fmt.Sprintf("%d columns and %d rows are too few: top needs %d and %d", width, height, MinWidth, MinHeight)
		lines := strings.Split(ansi.Wrap(text, max(1, width), ""), "\n")
		return lines[:min(len(lines), max(1, height))]
	}
	out := s.head(d, width)
	room := height - len(out) - 1
	if s.Pane != nil {
		out = append(out, s.pane(width, room)...)
	} else {
		out = append(out, s.lists(d, width, room)...)
	}
	return append(out, s.foot(width))
}

// head returns what is above the lists.
func (s *Screen) head(d *Data, width int) []string {
	clock := d.Now.GetTime().AsTime().Local().Format(time.TimeOnly)
	state := ansi.Truncate(cmp.Or(s.State, clock), width-2, "…")
	title := fit("toolhost  "+s.Title, width-ansi.StringWidth(state)-1, false)
	newest := &daemonv1.Latency{}
	if n := len(d.seconds); n > 0 {
		newest = d.seconds[n-1]
	}
	graphs := []struct {
		text  string
		style style
		of    func(*daemonv1.Latency) int64
	}{
		{count(newest.GetEnded()) + " calls/s", plain, (*daemonv1.Latency).GetEnded},
		{count(newest.GetFailed()) + " fail/s", bad, (*daemonv1.Latency).GetFailed},
		{"p99 " + took(newest.GetP99Ns()), plain, (*daemonv1.Latency).GetP99Ns},
	}
	line := ""
	for i, g := range graphs {
		room := (width - len(graphs) + 1) / len(graphs)
		text := fit(g.text, 11, false)
		bars := fit(sparks(d.seconds, g.of, min(room-12, maxSeconds)), room-12, false)
		if i > 0 {
			line += " "
		}
		line += text + " " + s.styled(g.style, bars)
	}
	waiting := 0
	for _, c := range d.Now.GetCallers() {
		waiting += int(c.GetWaiting())
	}
	sums := fmt.Sprintf("%d run, %d wait", int(d.Now.GetRunningTotal())-waiting, waiting)
	if n := d.Now.GetApprovals(); n > 0 {
		sums = fmt.Sprintf("%s, %d for your answer (a)", sums, n)
	}
	total := fmt.Sprintf("%s ended, %s failed", count(d.Now.GetEndedTotal()), count(d.Now.GetFailedTotal()))
	if n := d.Now.GetDroppedTotal(); n > 0 {
		total += ", " + count(n) + " not counted"
	}
	third := sums
	if room := width - ansi.StringWidth(sums) - 2; room >= ansi.StringWidth(total) {
		third = fit(sums, width-ansi.StringWidth(total), false) + total
	}
	second := plain
	if d.Now.GetApprovals() > 0 {
		second = notice
	}
	first := strong
	if s.State != "" {
		first = notice
	}
	return []string{s.styled(first, title+" "+state), fit(line, width, false), s.styled(second, fit(third, width, false))}
}

// lists returns the list in focus, of which half of the room is at least, and others as there is room.
func (s *Screen) lists(d *Data, width, room int) (out []string) {
	const beside = 12 // lines, for others to be shown
	rows, lines := s.rowsOf(d, s.focus), map[int]int{}
	left := room - min(len(rows)+1, room/2)
	for i := range lists {
		if i != s.focus && room >= beside {
			lines[i] = min(len(s.rowsOf(d, i))+1, room/3, left)
			left -= lines[i]
		}
	}
	lines[s.focus] = room
	for i, n := range lines {
		if i != s.focus {
			lines[s.focus] -= n
		}
	}
	for i := range lists {
		if lines[i] > 0 {
			out = append(out, s.list(i, s.rowsOf(d, i), width, lines[i])...)
		}
	}
	return out
}

// easy is the drop of the last column that is worth more than room for the others.
const easy = 4

// greedy is the growth of a column that takes all room that there is: others stay near each other.
const greedy = 6

// layout returns how wide each column is; 0: there is no room for it.
func layout(columns []column, width int) []int {
	out, all, drop, grow := make([]int, len(columns)), 0, 0, 0
	for i, c := range columns {
		out[i], all, drop = c.width, all+c.width+1, max(drop, c.drop)
	}
	for ; drop > 0; drop-- {
		room := width
		if drop > easy {
			room -= width / 6 // rather than one more, others have room
		}
		for i, c := range slices.Backward(columns) {
			if c.drop == drop && all-1 > room {
				out[i], all = 0, all-c.width-1
			}
		}
	}
	left := width - all + 1
	for i, c := range columns {
		if out[i] > 0 {
			grow += c.grow
		}
	}
	for i, c := range columns {
		if out[i] > 0 && c.grow > 0 {
			more := left * c.grow / grow
			if c.grow < greedy {
				more = min(more, 2*c.width)
			}
			out[i], left, grow = out[i]+more, left-more, grow-c.grow
		}
	}
	return out
}

// list returns a list in exactly so many lines.
func (s *Screen) list(of int, rows []Row, width, lines int) (out []string) {
	const mark = 2
	widths := layout(lists[of].columns, width-mark)
	line := func(first string, cell func(int) string) string {
		for i, c := range lists[of].columns {
			if widths[i] > 0 {
				first += fit(cell(i), widths[i], c.right) + " "
			}
		}
		return fit(strings.TrimRight(first, " "), width, false)
	}
	focused := of == s.focus
	heading := line(fmt.Sprintf("%d ", of+1), func(i int) string { return lists[of].columns[i].title })
	if focused {
		tail := " by " + lists[of].orders[s.order[of]].name
		if s.Filter != "" {
			tail += ", with " + s.Filter
		}
		if room := width - len(strings.TrimRight(heading, " ")); ansi.StringWidth(tail) <= room || s.Filter != "" { // what is left out has to be seen
			tail = ansi.Truncate(tail, width/2, "…")
			heading = fit(strings.TrimRight(heading, " "), width-ansi.StringWidth(tail), false) + tail
		}
		heading = s.styled(active, heading)
	} else {
		heading = s.styled(strong, heading)
	}
	out = append(out, heading)
	at := s.choose(rows, of)
	if lines--; focused {
		s.page = max(1, lines-1)
	}
	top := 0
	if focused {
		top = max(0, min(at-lines/2, len(rows)-lines))
	}
	for i := range lines {
		n := top + i
		if n >= len(rows) {
			out = append(out, strings.Repeat(" ", width))
			continue
		}
		first, style := "  ", rows[n].style
		if focused && n == at {
			first, style = "> ", chosen
		}
		out = append(out, s.styled(style, line(first, func(i int) string { return rows[n].cells[i] })))
	}
	return out
}

// pane returns the text in exactly so many lines.
func (s *Screen) pane(width, room int) (out []string) {
	p := s.Pane
	s.page = max(1, room-2)
	if p.top = max(0, min(p.top, len(p.Lines)-room+1)); p.Follow {
		p.top = max(0, len(p.Lines)-room+1)
	}
	out = append(out, s.styled(active, fit(p.Title, width, false)))
	for _, line := range p.Lines[p.top:min(len(p.Lines), p.top+room-1)] {
		out = append(out, fit(line, width, false))
	}
	for len(out) < room {
		out = append(out, strings.Repeat(" ", width))
	}
	return out
}

// foot returns the last line.
func (s *Screen) foot(width int) string {
	if s.Note != "" {
		return s.styled(notice, fit(s.Note, width, false))
	}
	shown := keys
	if s.Pane != nil {
		shown = []string{"esc back", "up and down", "q quit"}
	}
	text := ""
	for _, key := range shown {
		if ansi.StringWidth(text+key) <= width {
			text += key + "  "
		}
	}
	return s.styled(dim, fit(strings.TrimRight(text, " "), width, false))
}

// Print returns all there is, for a stream in place of a terminal.
func Print(d *Data, title string, width int) []string {
	s := Screen{Title: title, focus: -1}
	out := s.head(d, width)
	for of := range lists {
		rows := s.rowsOf(d, of)
		out = append(out, s.list(of, rows, width, len(rows)+1)...)
	}
	for i, line := range out {
		out[i] = strings.TrimRight(line, " ")
	}
	return out
}
