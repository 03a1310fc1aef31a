package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const (
	// maxShared bounds the tools of one host, and maxShareBytes their definitions.
	maxShared     = 20_000
	maxShareBytes = 64 << 20
	// readingBudget bounds the subschemas in one reading of what a host shares: six for each of the
	// most tools. Each takes some 30 µs.
	readingBudget = 6 * maxShared
	// dialsAtOnce bounds the lines that are made at a time to read what hosts share.
	dialsAtOnce = 32
	// asksAtOnce bounds the definitions in one request.
	asksAtOnce = 2000
	// maxReason bounds the bytes of what is shown of an error, which may be the other host's.
	maxReason = 500
	// syncTime bounds each answer of a host that says what it shares.
	syncTime = 30 * time.Second
)

// follow reads what a host shares, whenever that has changed or the line to it is lost.
func (s *mounts) follow(m *member) {
	const firstPause, longestPause = 100 * time.Millisecond, 5 * time.Second
	for again := firstPause; !m.unchanged(); {
		begin := time.Now()
		m.compiling = 0
		err := s.sync(m.life, m)
		if tool.CodeOf(err) == tool.CodePermissionDenied { // it would refuse each call
			s.take(m, nil, reading{})
		}
		m.attempted(err)
		if err == nil { // one that has other schemas all the time has a fifth of the time at most
			again = firstPause
			pause(m.life, min(4*m.compiling, time.Minute))
			continue
		}
		if m.life.Err() != nil {
			continue
		}
		s.log.Debug("what a host shares could not be read", "host", m.host, "error", err)
		wait := again
		switch tool.CodeOf(err) {
		case tool.CodeUnavailable, tool.CodeDeadlineExceeded:
		default: // one that says nothing of use, at length, has a tenth of the time at most
			wait = max(again, min(10*time.Since(begin), time.Minute))
		}
		pause(m.life, wait)
		again = min(2*again, longestPause)
		s.directory.mu.Lock()
		m.changed = true
		s.directory.mu.Unlock()
	}
}

// reading is which of what a host shares was read, and by which settings of this host.
type reading struct{ revision, epoch uint64 }

// attempted takes how an attempt to read what the host shares has ended.
func (m *member) attempted(err error) {
	m.directory.mu.Lock()
	m.denies = tool.CodeOf(err) == tool.CodePermissionDenied
	if m.unread = ""; err != nil {
		m.unread = "what it shares could not be read: " + sanitize.Line(err.Error(), maxReason)
	}
	m.directory.mu.Unlock()
	m.ready()
}

// sync brings the offers of a host up to date.
func (s *mounts) sync(ctx context.Context, m *member) error {
	c := s.settings.Load()
	p, known := c.known[m.key]
	s.directory.mu.Lock()
	revision, usable, connected := m.said.Revision, m.usable(), m.linked()
	s.directory.mu.Unlock()
	if !known || !usable || len(p.Mount) == 0 {
		s.take(m, nil, reading{})
		return nil
	}
	if connected && m.have == (reading{revision, c.epoch}) {
		return nil
	}
	if !connected {
		if err := s.dial(ctx, m); err != nil {
			return err
		}
	}
	var in index
	if err := m.ask(ctx, indexOperation, struct{}{}, &in); err != nil {
		return err
	}
	if len(in.Tools) > maxShared {
		return tool.Errorf(tool.CodeResourceExhausted, "it shares %d tools, more than %d", len(in.Tools), maxShared)
	}
	wanted := map[string]shared{}
	for _, t := range in.Tools {
		if durable.Matches(p.Mount, t.Name) {
			t.Plugin, t.Version = sanitize.Line(t.Plugin, maxLabelLength), sanitize.Line(t.Version, maxLabelLength)
			wanted[t.Name] = t
		}
	}
	defs, err := s.definitions(ctx, m, wanted)
	if err != nil {
		return err
	}
	offers := make(map[string]*offer, len(wanted))
	for name, t := range wanted {
		if d := defs[t.Digest]; d != nil && d.Get().Name == name {
			offers[c.Prefix+name] = &offer{t, m, d}
		}
	}
	s.take(m, offers, reading{in.Revision, c.epoch})
	return nil
}

// dial makes a line to a host to read from it, of which there are many when a server is back: no more are made at a time than
// end in time. Calls do not wait for that.
func (s *mounts) dial(ctx context.Context, m *member) error {
	select {
	case s.dialing <- struct{}{}:
		defer func() { <-s.dialing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	_, err := m.connect(ctx)
	return err
}

// definitions returns those of tools, by their digests, and reads the ones that are not known.
func (s *mounts) definitions(ctx context.Context, m *member, wanted map[string]shared) (map[string]*definition, error) {
	out := map[string]*definition{}
	byDigest := map[string]shared{}
	s.mu.Lock()
	for _, t := range wanted {
		if d := s.defs[t.Digest]; d != nil {
			out[t.Digest] = d
		} else {
			byDigest[t.Digest] = t
		}
	}
	s.mu.Unlock()
	size, budget := 0, schema.NewBudget(readingBudget)
	missing := slices.Sorted(maps.Keys(byDigest))
	left := 0
	for len(missing) > 0 && ctx.Err() == nil {
		var got definitionsAnswer
		asked := missing[:min(len(missing), asksAtOnce)]
		if err := m.ask(ctx, definitionsOperation, definitionsRequest{asked}, &got); err != nil {
			return nil, err
		}
		before := len(missing)
		missing = slices.DeleteFunc(missing, func(digest string) bool {
			text, there := got.Definitions[digest]
			if !there {
				return false
			}
			size += len(text)
			d, err := s.decode(m, byDigest[digest], text, budget)
			if errors.Is(err, schema.ErrBudget) {
				left++
				return true
			}
			if err != nil {
				s.log.Warn("a tool of another host cannot be used", "host", m.host, "tool", byDigest[digest].Name, "error", err)
				return true
			}
			out[digest] = d
			return true
		})
		switch {
		case size > maxShareBytes:
			return nil, tool.Errorf(tool.CodeResourceExhausted, "its definitions have more than %d MiB", maxShareBytes>>20)
		case len(missing) == before: // they have changed meanwhile, and it will say so
			return out, nil
		}
	}
	if left > 0 {
		s.log.Warn("tools of another host cannot be used: its schemas are too large together, and it should share less",
			"host", m.host, "tools", left)
	}
	return out, ctx.Err()
}

// decode is decodeDefinition of one host at a time, in turn: what one shares costs all of them together
// no more than a processor, and the others their turn.
func (s *mounts) decode(m *member, t shared, text json.RawMessage, budget *schema.Budget) (*definition, error) {
	s.compiling.Lock()
	defer s.compiling.Unlock()
	begin := time.Now()
	defer func() { m.compiling += time.Since(begin) }()
	d, err := decodeDefinition(t, text, budget)
	if err != nil {
		return nil, err
	}
	return &definition{Definition: d, shape: shapeOf(*d.Get()), size: len(text)}, nil
}
