package grant

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Line is one line of what a process may do: a list of entries, or an amount. A thing that has it is a pointer to a
// struct with a field of its name, in any case: a []string, or a number, of which 0 is not said.
type Line struct {
	Name string // in configuration, declarations, locks and reports

	// Of a list: Check returns the first mistake of an entry, Normal its one form, and Covers reports whether an
	// entry in that form gives all that another does.
	Check  func(entry string) error
	Normal func(entry string) string
	Covers func(wide, narrow string) bool

	// Of an amount: what may be declared, that in words, and how it is written for people.
	Least, Most float64
	Range       string
	Show        func(float64) string
}

// The lines are in the order in which people read them.
var (
	Lists = []Line{
		{Name: "read", Check: checkPath, Normal: normalPath, Covers: pathCovers},
		{Name: "write", Check: checkPath, Normal: normalPath, Covers: pathCovers},
		{Name: "net", Check: checkHosts, Normal: normalHosts, Covers: hostsCover},
		{Name: "exec", Check: checkProgram, Normal: normalPath, Covers: pathCovers},
	}
	Amounts = []Line{
		{Name: "memory", Least: 1 << 20, Most: 1 << 50, Range: "it is in bytes, from 1 MiB to 1 PiB", Show: Bytes},
		{Name: "cpu", Least: 0.01, Most: 1 << 16, Range: "it is in processors, from 0.01 to 65536", Show: number},
		{Name: "pids", Show: number}, {Name: "signals", Show: number}, {Name: "files", Show: number}, {Name: "disk", Show: Bytes},
	}
	Lines = slices.Concat(Lists, Amounts)
)

// IsAmount reports whether the line of a name is an amount.
func IsAmount(name string) bool {
	return slices.ContainsFunc(Amounts, func(l Line) bool { return l.Name == name })
}

func (l Line) in(thing any) reflect.Value {
	return reflect.ValueOf(thing).Elem().FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, l.Name) })
}

// List returns the list of a thing, to read and to set.
func (l Line) List(thing any) *[]string { return l.in(thing).Addr().Interface().(*[]string) }

// Value returns what the field of a thing has.
func (l Line) Value(thing any) any { return l.in(thing).Interface() }

// Amount returns the amount of a thing, for comparison; 0: it is not said.
func (l Line) Amount(thing any) (n float64) {
	if l.IsSaid(thing) {
		n = l.in(thing).Convert(reflect.TypeFor[float64]()).Float()
	}
	return n
}

// IsSaid reports whether a thing has the line and says anything of it, as a list that is not nil does.
func (l Line) IsSaid(thing any) bool {
	v := l.in(thing)
	return v.IsValid() && !v.IsZero()
}

// Copy sets the line of a thing, if it has it, to that of another.
func (l Line) Copy(to, from any) {
	if v := l.in(to); v.IsValid() {
		v.Set(l.in(from))
	}
}

// Text returns the line of a thing for people; empty: nothing is said.
func (l Line) Text(thing any) string {
	switch {
	case !l.IsSaid(thing):
		return ""
	case l.Show == nil:
		return strings.Join(*l.List(thing), ", ")
	}
	return l.Show(l.Amount(thing))
}

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// Bytes writes a number of bytes for people.
func Bytes(n float64) string {
	for i, unit := range []string{" GiB", " MiB", " KiB"} {
		if size := int64(1) << (30 - 10*i); n >= float64(size) && int64(n)%size == 0 {
			return number(n/float64(size)) + unit
		}
	}
	return number(n) + " bytes"
}
