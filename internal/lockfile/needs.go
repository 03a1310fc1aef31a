package lockfile

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/toolhost/toolhost/internal/need"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// undeclared is what a lock has of a plugin that does not declare its needs.
const undeclared = "undeclared"

// NeedsText returns a plugin's declaration as a lock has it: JSON with sorted keys on one line, in
// its one form, or the word undeclared.
func NeedsText(n *tool.Needs) string {
	if n == nil {
		return undeclared
	}
	text, err := json.Marshal(need.Normal(n))
	if err != nil { // a number that is none, which is not declared
		return undeclared
	}
	return printable(text)
}

// parseNeeds reads what [NeedsText] wrote. What it does not know it refuses, as it may forbid
// something.
func parseNeeds(text string) (*tool.Needs, error) {
	if text == undeclared {
		return nil, nil
	}
	n := &tool.Needs{}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(n); err != nil || !strings.HasPrefix(text, "{") {
		return nil, errors.New("expected needs as JSON that this toolhost knows, or " + undeclared)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("expected one JSON object of needs")
	}
	return n, need.Check(n)
}

// addNeeds reads the value of a line of needs: for this platform into e, else into the lock.
func (l *Lock) addNeeds(name, at, value string, e *Entry) error {
	n, err := parseNeeds(value)
	switch {
	case err != nil:
		return err
	case at == platform:
		e.Needs = NeedsText(n)
	default:
		l.addElsewhere(name, at, foreign{needs: NeedsText(n)})
	}
	return nil
}

// Needs returns what is pinned of a plugin's declaration; false: nothing is, as in older locks.
func (l *Lock) Needs(name string) (n *tool.Needs, pinned bool) {
	text := l.Plugins[name].Needs
	if text == "" {
		return nil, false
	}
	n, err := parseNeeds(text)
	if err != nil { // it was made here, and not read
		return &tool.Needs{}, true
	}
	return n, true
}

// needsChanges returns what differs between declarations as a lock has them.
func needsChanges(was, is string) need.Diff {
	before, err := parseNeeds(was)
	now, err2 := parseNeeds(is)
	if err != nil || err2 != nil {
		return need.Diff{{Was: was, Larger: true}}
	}
	return need.Changes(now, before)
}

// declared is a declaration as a lock has it for people; empty: it declares nothing.
func declared(text string) string {
	n, err := parseNeeds(text)
	if err != nil || n == nil {
		return ""
	}
	return n.String()
}
