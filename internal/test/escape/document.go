package escape

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed introduction.txt
var introduction string

// Document returns docs/sandbox.md.
func Document() string {
	d := &document{}
	d.WriteString(introduction)
	d.profiles()
	d.differences()
	d.WriteString("\n## The attempts\n\n" +
		"An attempt succeeds under the profiles in bold and under no other. (root): only root can do it without a\n" +
		"sandbox. (not root): a plugin of root has less rights than its host, and cannot. \\*: it\n" +
		"[ends differently](#where-it-ends-differently) on some systems.\n")
	for _, g := range Table {
		d.group(g)
	}
	return d.String()
}

type document struct{ strings.Builder }

func (d *document) line(format string, args ...any) { _, _ = fmt.Fprintf(d, format+"\n", args...) }

// settings are what an operator says, or a plugin declares, for each profile.
var settings = map[Profiles]string{
	Undeclared:     "nothing is set, and the plugin declares nothing",
	Nothing:        "`read: none`, `write: none`, `net: none`, `exec: none`",
	WorkspaceRead:  "the same, and `read: workspace`",
	WorkspaceWrite: "the same, and `write: workspace`",
	NetList:        "the same, and `net: [HOST:PORT]`",
	NetAny:         "the same, and `net: any`",
	ExecList:       "the same, and `exec: [PROGRAM]`",
	ExecAny:        "the same, and `exec: any`",
	NoSandbox:      "`level: none`",
}

// each yields the profiles of a set.
func (p Profiles) each(yield func(Profiles) bool) {
	for i := range ProfileNames {
		if one := Profiles(1) << i; p&one != 0 && !yield(one) {
			return
		}
	}
}

// String returns the profiles for people.
func (p Profiles) String() string {
	switch p {
	case 0:
		return "no profile"
	case everyone:
		return "every profile"
	case everyone &^ NoSandbox:
		return "every profile but `none`"
	case declared:
		return "every profile but `undeclared` and `none`"
	case declared &^ NetAny:
		return "every profile but `undeclared`, `net-any` and `none`"
	}
	var names []string
	for one := range p.each {
		names = append(names, "`"+one.name()+"`")
	}
	return join(names)
}

func (p Profiles) name() string {
	for i, name := range ProfileNames {
		if p == 1<<i {
			return name
		}
	}
	return ""
}

// join returns words as in a sentence.
func join(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// profiles says what each one sets.
func (d *document) profiles() {
	d.line("| profile | what is set |\n|---|---|")
	for p := range everyone.each {
		d.line("| `%s` | %s |", p.name(), settings[p])
	}
}

// where says on which systems an exception holds.
var where = map[System]string{
	AsRoot:     "As root",
	Bare:       "Where namespaces cannot be had",
	Ungrouped:  "Where no control group can be made",
	Namespaces: "Where namespaces can be had",
	"":         "Everywhere",
}

// differences says what ends differently, and why.
func (d *document) differences() {
	d.line("\n## Where it ends differently")
	for _, on := range []System{Bare, Ungrouped, AsRoot, "", Namespaces} {
		d.line("\n%s:\n", where[on])
		var reasons []string
		ends := map[string][]Exception{}  // by the reason
		which := map[Exception][]string{} // attempts
		can := map[Exception]bool{}       // or else cannot
		for _, a := range Attempts() {
			for _, e := range a.But {
				if e.On != on {
					continue
				}
				if !slices.Contains(reasons, e.Why) {
					reasons = append(reasons, e.Why)
				}
				if !slices.Contains(ends[e.Why], e) {
					ends[e.Why] = append(ends[e.Why], e)
				}
				which[e], can[e] = append(which[e], "`"+a.Name+"`"), a.Done&e.Under == 0
			}
		}
		for _, why := range reasons {
			d.line("- %s", why)
			for _, e := range ends[why] {
				d.line("  Then %s %s: %s.", e.Under, map[bool]string{true: "can", false: "cannot"}[can[e]], strings.Join(which[e], ", "))
			}
		}
	}
}

// group writes the attempts of one kind, those together that succeed under the same profiles.
func (d *document) group(g Group) {
	d.line("\n### %s", g.Title)
	if g.About != "" {
		d.line("\n%s", g.About)
	}
	var order []Profiles
	by := map[Profiles][]Attempt{}
	for _, a := range g.Attempts {
		if !slices.Contains(order, a.Done) {
			order = append(order, a.Done)
		}
		by[a.Done] = append(by[a.Done], a)
	}
	for _, p := range order {
		d.line("\n**%s**\n", strings.ToUpper(p.String()[:1])+p.String()[1:])
		for _, a := range by[p] {
			d.line("- `%s`: %s%s%s", a.Name, a.Does, map[Takes]string{Root: " (root)", Equal: " (not root)"}[a.Takes], map[bool]string{true: " \\*"}[len(a.But) > 0])
		}
	}
}
