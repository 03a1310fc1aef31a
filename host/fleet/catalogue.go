package fleet

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/checked"
	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The fleet's own operations. They are calls on a link, by names that no tool can have.
const (
	indexOperation       = "fleet:index"
	definitionsOperation = "fleet:definitions"
	drainOperation       = "fleet:drain"
	drainedOperation     = "fleet:drained"
	viewOperation        = "fleet:view"
)

// catalogue is what this host could share, at one moment. It never changes.
type catalogue struct {
	revision uint64
	tools    map[string]shared // by name
	names    []string          // sorted
	texts    map[string]json.RawMessage
}

// shared is a tool that can be shared.
type shared struct {
	Name string `json:"name"`
	// Digest is the SHA-256 of the definition's JSON, in hexadecimal digits.
	Digest string `json:"digest"`
	// Plugin and Version are those that it comes with; Keeps says that it keeps state per session.
	Plugin  string `json:"plugin,omitempty"`
	Version string `json:"version,omitempty"`
	Keeps   bool   `json:"keeps,omitempty"`
}

// index is the answer to indexOperation.
type index struct {
	Revision uint64      `json:"revision"`
	Tools    sharedTools `json:"tools"`
}

// sharedTools and definitionTexts are read up to their bounds: another host may repeat the shortest
// of elements in as many bytes as an answer may have.
type (
	sharedTools     []shared
	definitionTexts map[string]json.RawMessage
)

// UnmarshalJSON implements [json.Unmarshaler].
func (t *sharedTools) UnmarshalJSON(text []byte) error {
	return elements(text, '[', maxShared, func(d *json.Decoder) error {
		var s shared
		err := d.Decode(&s)
		*t = append(*t, s)
		return err
	})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *definitionTexts) UnmarshalJSON(text []byte) error {
	*t = definitionTexts{}
	return elements(text, '{', asksAtOnce, func(d *json.Decoder) error {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		err = d.Decode(&value)
		(*t)[fmt.Sprint(key)] = value
		return err
	})
}

// elements has the elements of an array or an object read, of which there may be so many.
func elements(text []byte, begin json.Delim, most int, read func(*json.Decoder) error) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if first, err := d.Token(); err != nil || first != begin {
		return errMalformed
	}
	for ; d.More(); most-- {
		if most == 0 {
			return tool.Errorf(tool.CodeResourceExhausted, "it shares too many tools: it says more of them than this host reads")
		}
		if err := read(d); err != nil {
			return err
		}
	}
	return nil
}

// A host asks for definitions by their digests, and gets as many as fit an answer, at least one.
type (
	definitionsRequest struct {
		Digests []string `json:"digests"`
	}
	definitionsAnswer struct {
		Definitions definitionTexts `json:"definitions"`
	}
)

// maxAnswer bounds the definitions in one answer, in bytes.
const maxAnswer = 4 << 20

// gather makes the catalogue of the host's tools: what is not of the fleet itself, so that a call
// never travels on.
func gather(h *host.Host, before *catalogue) *catalogue {
	c := &catalogue{revision: before.revision + 1, tools: map[string]shared{}, texts: map[string]json.RawMessage{}}
	owners := map[string]shared{}
	for _, p := range h.Plugins() {
		owners[p.Name] = shared{Version: p.Version, Keeps: p.KeepsSessions}
	}
	for _, t := range h.Tools(host.Filter{Without: Owner}) {
		if t.Own {
			continue // a peer has no use for them, and would list them to its models
		}
		s := owners[t.Owner]
		s.Plugin = t.Owner
		c.add(&t.Definition, s)
	}
	c.names = slices.Sorted(maps.Keys(c.tools))
	if maps.Equal(before.tools, c.tools) {
		return before
	}
	return c
}

// add adds a tool, of which s says what its definition does not. It is only for a catalogue that is being made.
func (c *catalogue) add(d *tool.Definition, s shared) {
	digest, text := durable.Encode(*d)
	if digest == "" {
		return // no registry has such a schema
	}
	s.Name, s.Digest = d.Name, digest
	c.tools[s.Name], c.texts[s.Digest] = s, text
}

// index returns what the patterns match.
func (c *catalogue) index(patterns []string) []shared {
	out := []shared{}
	for _, name := range c.names {
		if durable.Matches(patterns, name) {
			out = append(out, c.tools[name])
		}
	}
	return out
}

// revision changes whenever what is shared may have. It is announced, and others then read it.
func (p *presence) revision() uint64 {
	return p.catalogue.Load().revision<<16 + p.settings.Load().epoch
}

// definitions returns those that were asked for, of what the patterns match.
func (c *catalogue) definitions(patterns []string, r definitionsRequest) definitionsAnswer {
	asked := map[string]bool{}
	for _, d := range r.Digests {
		asked[d] = true
	}
	out, size := definitionsAnswer{definitionTexts{}}, 0
	for _, name := range c.names {
		digest := c.tools[name].Digest
		text := c.texts[digest]
		if !asked[digest] || !durable.Matches(patterns, name) {
			continue
		}
		if size > 0 && size+len(text) > maxAnswer {
			break
		}
		size += len(text)
		out.Definitions[digest] = text
	}
	return out
}

// regather brings the catalogue up to date, and reports whether it has changed.
func (p *presence) regather() bool {
	if !p.settings.Load().sharesAny() {
		return false
	}
	before := p.catalogue.Load()
	now := gather(p.host, before)
	if now == before {
		return false
	}
	p.catalogue.Store(now)
	return true
}

// followHost keeps the catalogue as the host's tools change, and says so to the fleet.
func (f *Fleet) followHost(changes <-chan struct{}) {
	for {
		select {
		case _, more := <-changes:
			if !more {
				return
			}
		case <-f.life.Done():
			return
		}
		if f.regather() {
			f.announces.send()
		}
		f.unshadow()
		if !pause(f.life, gatherTime) {
			return
		}
	}
}

// decodeDefinition reads a definition whose digest is known, and checks that it is that one.
//
// # Errors
//
// [tool.CodeInvalidDefinition], also for a schema that does not compile; it wraps [schema.ErrBudget] if
// the budget is used up.
func decodeDefinition(s shared, text json.RawMessage, budget *schema.Budget) (*checked.Definition, error) {
	var d tool.Definition
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != s.Digest {
		return nil, tool.Errorf(tool.CodeInvalidDefinition, "the definition of %s is not the announced one", s.Name)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, tool.Errorf(tool.CodeInvalidDefinition, "the definition of %s cannot be read: %w", s.Name, err)
	}
	if d.Name != s.Name {
		return nil, tool.Errorf(tool.CodeInvalidDefinition, "the definition of %s has the name %.70q", s.Name, d.Name)
	}
	d.MaxRetries = 0 // the fleet repeats a call itself, at most once
	return checked.New(d, budget)
}

func (c *Config) sharesAny() bool {
	if len(c.Share) > 0 {
		return true
	}
	for _, p := range c.Peers {
		if len(p.Share) > 0 {
			return true
		}
	}
	return false
}
