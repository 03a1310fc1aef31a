package connect

import (
	"regexp"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/token"
	"github.com/toolhost/toolhost/internal/state"
)

// Connection is what was done for a client.
type Connection struct {
	Made Made `json:"made"`
	// Config is what was done to the configuration file; nil: nothing.
	Config *Made `json:"config,omitempty"`
	// Token is the ID of the token that was made; empty: none.
	Token string `json:"token,omitempty"`
}

// Connections returns the file of what was done, by the names of clients.
//
// # Errors
//
// Those of [state.In].
func Connections() (state.File[map[string]Connection], error) {
	f, err := state.In[map[string]Connection]("connections.json")
	f.Max = 2 * maxFile // an entry may have taken the place of much
	return f, err
}

// Made is what was done to a file, for the day when it is undone.
type Made struct {
	Path string `json:"path"`
	// Old became New, in which [Secret] stands for the token.
	Old string `json:"old"`
	New string `json:"new"`
	// Created: there was no file. Fresh: what the entry is in was made for it.
	Created bool `json:"created,omitempty"`
	Fresh   bool `json:"fresh,omitempty"`
}

// Undo returns the change that makes a file what it was, if what was put there stands there still; nil otherwise.
func (m Made) Undo() (*Change, error) {
	f, err := read(m.Path)
	if err != nil || m.New == "" {
		return nil, about(m.Path, err)
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(m.New), Secret, token.Any().String())
	all := regexp.MustCompile(pattern).FindAllStringIndex(f.text, 2)
	if len(all) != 1 {
		return nil, nil //nolint:nilnil // it says so
	}
	out := &Change{Path: m.Path, file: f, splice: splice{all[0][0], all[0][1], m.Old}}
	out.after = out.splice.in(f.text)
	out.gone = m.Created && out.after == ""
	return out, nil
}

// After returns what was made by two changes, if the second changed what the first had made.
func (m Made) After(first Made) Made {
	was := token.Any().ReplaceAllString(m.Old, Secret)
	if m.Path != first.Path || was == "" || strings.Count(first.New, was) != 1 {
		m.Fresh = m.Fresh || m.Path == first.Path && first.Fresh
		return m
	}
	first.New = strings.Replace(first.New, was, m.New, 1)
	return first
}
