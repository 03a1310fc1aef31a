package compile

import (
	"fmt"
	"slices"
	"strings"
)

// note adds a note, once.
func (c *Compilation) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(c.Notes, text) {
		c.Notes = append(c.Notes, text)
	}
}

// tell adds notes on what a caller may not expect: names that stand in for others, and
// code that runs again. names are those that the session has declared.
func (c *Compilation) tell(names map[string]bool, scrub func(string) string) {
	var own []string
	later := func(format string, args ...any) { c.kept = append(c.kept, fmt.Sprintf(format, args...)) }
	for _, d := range c.Form.Declarations {
		for _, n := range d.Names {
			if d.IsInit() {
				later("init runs at the beginning of each later form too; reset: [\"init\"] ends that")
			}
			own = append(own, n)
		}
	}
	for _, r := range c.replaced {
		if slices.Contains(own, r.Name) {
			later("%s stands in for the package's own (%s) in the forms of this session, and the file is unchanged; "+
				"reset: [%q] ends that",
				r.Name, scrub(r.At), r.Name)
		}
	}
	for _, p := range c.graph.Order {
		if p.Standard && !p.DepOnly && slices.Contains(own, p.Name) {
			later("%s hides package %s in later forms; reset: [%q] ends that", p.Name, p.ImportPath, p.Name)
		}
	}
	c.names = names
}

// tellLost adds a note on the variables whose values are gone after the form has run.
func (c *Compilation) tellLost() {
	b := c.Form.Body
	if b == nil {
		return
	}
	var again, gone []string
	for _, n := range b.Set {
		if c.names[n] || slices.Contains(b.Lost, n) {
			again = append(again, n)
		}
	}
	for _, n := range b.Lost {
		if slices.Contains(b.Defined, n) {
			gone = append(gone, n)
		}
	}
	if len(again) > 0 {
		c.note("what the form sets is not kept: %s will have the value of the declaration again in the next form; "+
			"declare it again to change it",
			strings.Join(again, ", "))
	}
	if len(gone) > 0 {
		c.note("%s will be gone in the next form; var %s = ... keeps it", strings.Join(gone, ", "), gone[0])
	}
}
