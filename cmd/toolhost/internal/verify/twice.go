package verify

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/schema"
)

// sessions is how many of them call at a time.
const sessions = 16

// newMark returns a text that is nowhere else, of a kind that most tools return as it is. It also names a session.
func newMark() string { return strings.ToLower("mark" + rand.Text()[:12]) }

var jsonText = lazy.Regexp(`"(?:[^"\\]|\\.)*"`)

// withMark returns the arguments of a call with a mark in place of each text that the schema lets be free.
func withMark(ctx context.Context, c *call, mark string) []byte {
	input, err := schema.CompileInput(c.GetInputSchemaJson())
	args := []byte(c.args)
	for _, at := range slices.Backward(jsonText().FindAllIndex(args, -1)) {
		marked := slices.Concat(args[:at[0]], []byte(`"`+mark+`"`), args[at[1]:])
		if err == nil && args[at[1]] != ':' && input.Check(ctx, marked) == nil {
			args = marked
		}
	}
	return args
}

// free returns calls that can be made so many times more with other texts than those that the author gave.
func (s *subject) free(times int) []*call {
	return slices.DeleteFunc(s.brief(times), func(c *call) bool { return !s.mayCall(c.declared) })
}

// shows makes a call in a session, and reports whether the answer has a mark that is another's.
func (s *subject) shows(ctx context.Context, p *process, c *call, mark string, others ...string) (bool, error) {
	in := s.request(c.def.Name, withMark(ctx, c, mark))
	in.Session = mark
	out, err := p.client.Execute(ctx, in)
	if err != nil {
		return false, fmt.Errorf("%s: %w", c, err)
	}
	said := strings.ToLower(out.String())
	foreign := func(other string) bool { return other != mark && strings.Contains(said, other) }
	return slices.ContainsFunc(others, foreign), nil
}

// checkSessions makes the calls in a session, and again in another one.
func checkSessions(ctx context.Context, s *subject, p *process) finding {
	var f faults
	free := false
	one, two := newMark(), newMark()
	for _, mark := range []string{one, two} {
		for _, c := range s.free(2) {
			free = free || strings.Contains(string(withMark(ctx, c, mark)), mark)
			if leak, err := s.shows(ctx, p, c, mark, one); err != nil {
				return failIf(err)
			} else if leak {
				f.add("session leak: %s answers with a text that another session sent", c.shown())
			}
		}
	}
	if !free {
		return skip("no call that may be repeated has a free text, by which answers could be told apart")
	}
	return f.finding(Fail)
}

// checkMixed makes each call in several sessions at once.
func checkMixed(ctx context.Context, s *subject, p *process) finding {
	var f faults
	marks := make([]string, sessions)
	for i := range marks {
		marks[i] = newMark()
	}
	for _, c := range s.free(manyAtATime) {
		var all errgroup.Group
		for _, mark := range marks {
			all.Go(func() error {
				mixed, err := s.shows(ctx, p, c, mark, marks...)
				if mixed {
					s.mu.Lock()
					defer s.mu.Unlock()
					f.add("answers mixed up: %s answers with a text of another call that runs at the same time", c.shown())
				}
				return err
			})
		}
		if err := all.Wait(); err != nil {
			return failIf(err)
		}
	}
	return f.finding(Fail)
}
