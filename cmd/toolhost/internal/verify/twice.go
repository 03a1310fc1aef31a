package verify

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/internal/schema"
)

// marked are calls of a session that is their mark, which also stands for each text that their schemas let be free.
type marked struct {
	mark  string
	calls []*call
	args  [][]byte // of each call
	free  int      // how many calls have the mark
}

// The limits of calls that are made many times more.
const (
	repeatTime = time.Second // which one has taken
	repeatSize = 1 << 20     // of its answer, in bytes
	sessions   = 16          // at a time
	rounds     = 2
)

// mark returns the calls that may be repeated.
func (s *subject) mark(ctx context.Context) *marked {
	m := &marked{mark: newMark()}
	for _, c := range s.calls {
		if !c.good || !s.mayCall(c.declared) || c.took > repeatTime && !s.Long || proto.Size(c.out) > repeatSize {
			continue
		}
		args := withMark(ctx, c, m.mark)
		if m.calls, m.args = append(m.calls, c), append(m.args, args); bytes.Contains(args, []byte(m.mark)) {
			m.free++
		}
	}
	return m
}

// newMark returns a text that is nowhere else, of a kind that most tools return as it is.
func newMark() string { return strings.ToLower("mark" + rand.Text()[:12]) }

// again returns the same calls with another mark.
func (m *marked) again() *marked {
	other := &marked{mark: newMark(), calls: m.calls, free: m.free}
	for _, args := range m.args {
		other.args = append(other.args, bytes.ReplaceAll(args, []byte(m.mark), []byte(other.mark)))
	}
	return other
}

// withMark returns the arguments of a call with a mark.
func withMark(ctx context.Context, c *call, mark string) []byte {
	input, err := schema.CompileInput(c.GetInputSchemaJson())
	var args any
	from := json.NewDecoder(bytes.NewReader(c.args))
	from.UseNumber()
	if err != nil || from.Decode(&args) != nil {
		return c.args
	}
	out := []byte(c.args)
	eachText(args, func(was string, set func(string)) {
		set(mark)
		if text, err := json.Marshal(args); err != nil || input.Check(ctx, text) != nil {
			set(was)
		} else {
			out = text
		}
	})
	return out
}

// eachText calls do with each text in an object or a list, and what replaces it.
func eachText(in any, do func(was string, set func(string))) {
	one := func(v any, set func(string)) {
		if text, ok := v.(string); ok {
			do(text, set)
		} else {
			eachText(v, do)
		}
	}
	switch in := in.(type) {
	case []any:
		for i, v := range in {
			one(v, func(to string) { in[i] = to })
		}
	case map[string]any:
		for name, v := range in {
			one(v, func(to string) { in[name] = to })
		}
	}
}

// shows makes one of the calls, and reports whether its answer has one of the marks of others.
func (s *subject) shows(ctx context.Context, p *process, m *marked, i int, others ...*marked) (bool, error) {
	in := s.request(m.calls[i].def.Name, m.args[i])
	in.Session = m.mark
	out, err := p.link.execute(ctx, in)
	if err != nil {
		return false, err
	}
	said := strings.ToLower(out.String())
	for _, other := range others {
		if other != m && strings.Contains(said, other.mark) {
			return true, nil
		}
	}
	return false, nil
}

// checkSessions makes the calls in a session, and again in another one.
func checkSessions(ctx context.Context, s *subject, p *process) finding {
	first := s.mark(ctx)
	if first.free == 0 {
		return skip("no call that may be repeated has a free text, by which answers could be told apart")
	}
	var f faults
	for _, m := range []*marked{first, first.again()} {
		for i, c := range m.calls {
			if leak, err := s.shows(ctx, p, m, i, first); err != nil {
				return fail("%s: %v", c, err)
			} else if leak {
				f.add("session leak: %s answers with a text that another session sent", c.shown())
			}
		}
	}
	return f.finding(Fail)
}

// checkMixed makes each call in several sessions at once.
func checkMixed(ctx context.Context, s *subject, p *process) finding {
	all := []*marked{s.mark(ctx)}
	for len(all) < sessions {
		all = append(all, all[0].again())
	}
	var f faults
	for i, c := range all[0].calls {
		var at errgroup.Group
		at.SetLimit(sessions)
		for n := range sessions * rounds {
			at.Go(func() error {
				mixed, err := s.shows(ctx, p, all[n%sessions], i, all...)
				if mixed {
					s.mu.Lock()
					defer s.mu.Unlock()
					f.add("answers mixed up: %s answers with a text of another call that runs at the same time", c.shown())
				}
				return err
			})
		}
		if err := at.Wait(); err != nil {
			return fail("%s, %d at a time: %v", c.shown(), sessions, err)
		}
	}
	return f.finding(Fail)
}
