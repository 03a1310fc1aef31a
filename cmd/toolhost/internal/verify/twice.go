package verify

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/schema"
)

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

// foreign is a check that makes each call in several sessions, with a text of its own in each: no answer has another's.
// Times is how many times as long as one call they take.
func foreign(sessions, atATime, times int, what string) runner {
	return onLive(func(ctx context.Context, s *subject, p *process) finding {
		marks := make([]string, sessions)
		for i := range marks {
			marks[i] = newMark()
		}
		var f faults
		free := false
		for _, c := range s.free(times) {
			free = free || bytes.Contains(withMark(ctx, c, marks[0]), []byte(marks[0]))
			var all errgroup.Group
			all.SetLimit(atATime)
			for _, mark := range marks {
				all.Go(func() error {
					in := s.request(c.def.Name, withMark(ctx, c, mark))
					in.Session = mark
					out, err := p.client.Execute(ctx, in)
					if err != nil {
						return fmt.Errorf("%s: %w", c, err)
					}
					s.mu.Lock()
					defer s.mu.Unlock()
					said := strings.ToLower(out.String())
					if slices.ContainsFunc(marks, func(other string) bool { return other != mark && strings.Contains(said, other) }) {
						f.add(what, c.shown())
					}
					return nil
				})
			}
			if err := all.Wait(); err != nil {
				return failIf(err)
			}
		}
		if !free {
			return skip("no call that may be repeated has a free text, by which answers could be told apart")
		}
		return f.finding(Fail)
	})
}
