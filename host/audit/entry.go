package audit

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Entry is a line of a log.
type Entry struct {
	Record
	// Seq counts the lines of the log from 1, through all its files.
	Seq uint64 `json:"seq"`
	// Hash is what the next line is chained to.
	Hash string `json:"hash"`
	// Raw is the line without its newline.
	Raw []byte `json:"-"`
	// File and Line are where it stands; lines count from 1 in each file.
	File string `json:"-"`
	Line int    `json:"-"`
}

// readEntry makes an entry of a line; a *[Break] if it is not a record.
func readEntry(path string, l *line) (Entry, error) {
	e := Entry{File: path, Line: l.number}
	link, ok := parseLink(l.text)
	if !ok || l.long || json.Unmarshal(l.text, &e) != nil || e.Event == "" {
		kind, text := Edited, "this is not a record"
		if l.endless {
			text = endlessText
		} else if !l.ended {
			kind, text = Torn, "the line has no end"
		}
		return Entry{}, &Break{File: path, Line: l.number, Kind: kind, Text: text}
	}
	e.Seq, e.Hash, e.Raw = link.seq, link.hash.String(), slices.Clone(l.text)
	return e, nil
}

// Kind is what is wrong with a line.
type Kind string

// The kinds.
const (
	Edited    Kind = "edited"
	Missing   Kind = "missing"
	Reordered Kind = "reordered"
	Torn      Kind = "torn" // by a crash in the middle of a write
)

// Break is a place in a log that is not as it was written. It is an error, as
// those who read the log come across it too.
type Break struct {
	File string `json:"file"`
	Line int    `json:"line"` // in the file, from 1
	// Seq is the number of the line behind the break, by which it can be accepted; 0: it cannot.
	Seq  uint64 `json:"seq,omitempty"`
	Kind Kind   `json:"kind"`
	Text string `json:"text"`
}

func (b *Break) Error() string { return fmt.Sprintf("%s:%d: %s: %s", b.File, b.Line, b.Kind, b.Text) }
