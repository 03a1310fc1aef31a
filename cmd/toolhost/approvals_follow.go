package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/approval"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/terminal"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// followApprovals shows questions as they come and end. On a terminal it asks about them.
func followApprovals(ctx context.Context, s *session.Session, c *control.Client) error {
	if !s.Flags.JSON && s.Out.Terminal() {
		if t, err := s.OpenTerminal(); err == nil {
			_ = t.Close()
			return (&attendant{s: s, queue: c}).attend(ctx)
		}
	}
	return c.FollowApprovals(ctx, func(q approval.Question) error {
		switch {
		case s.Flags.JSON:
			line, err := json.Marshal(q)
			if err != nil {
				return err
			}
			s.Out.Line(line)
		case q.State == approval.Waiting:
			printQuestion(s.Out, q)
			s.Out.Printf("\n")
		default:
			s.Out.Printf("%s\n\n", ended(q))
		}
		return s.Out.Err()
	})
}

// ended says how a question ended.
func ended(q approval.Question) string {
	text := fmt.Sprintf("%s: %s %s", q.ID, q.Tool, q.State)
	if q.By != "" {
		text += " by " + q.By
	}
	if q.Reason != "" {
		text += ": " + q.Reason
	}
	return printable(text)
}

const askPrompt = "Run it? [y, n REASON, or nothing to leave it] "

// decisionOf returns what was decided with an answer; false: nothing.
func decisionOf(answer string) (d policy.Decision, ok bool) {
	if terminal.Yes(answer) {
		return policy.Decision{Verdict: policy.Allow}, true
	}
	word, reason, _ := strings.Cut(answer, " ")
	ok = strings.EqualFold(word, "n") || strings.EqualFold(word, "no")
	return policy.Decision{Verdict: policy.Deny, Reason: strings.TrimSpace(reason)}, ok
}

// attendant asks the person at the terminal about the questions in the queue, one after another.
type attendant struct {
	s       *session.Session
	queue   *control.Client
	waiting []approval.Question // that the person was not asked about, the oldest first
	asked   approval.Question   // whose answer is awaited; zero: none
	drop    context.CancelFunc  // ends the prompt about it
	typed   chan typed
}

// typed is the outcome of a prompt.
type typed struct {
	id     string // of the question
	answer string
	err    error
}

func (a *attendant) attend(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	news, over := make(chan approval.Question), make(chan error, 1)
	go func() {
		over <- a.queue.FollowApprovals(ctx, func(q approval.Question) error {
			select {
			case news <- q:
				return nil
			case <-ctx.Done():
				return nil
			}
		})
	}()
	a.typed = make(chan typed)
	for {
		if a.asked.ID == "" && len(a.waiting) > 0 {
			if err := a.ask(ctx); err != nil {
				return err
			}
		}
		select {
		case q := <-news:
			a.note(q)
		case t := <-a.typed:
			if err := a.answer(ctx, t); err != nil {
				return err
			}
		case err := <-over:
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// ask shows the oldest question, and begins to wait for an answer.
func (a *attendant) ask(ctx context.Context) error {
	t, err := a.s.OpenTerminal()
	if err != nil {
		return err
	}
	a.asked, a.waiting = a.waiting[0], a.waiting[1:]
	printQuestion(a.s.Out, a.asked)
	ctx, a.drop = context.WithCancel(ctx)
	id := a.asked.ID
	go func() {
		line, err := terminal.Prompt(ctx, t, "", askPrompt)
		_ = t.Close() // which ends a read that was given up
		select {
		case a.typed <- typed{id, line, err}:
		case <-ctx.Done():
		}
	}()
	return nil
}

// note takes in a question that comes, or is closed.
func (a *attendant) note(q approval.Question) {
	if q.State == approval.Waiting {
		a.waiting = append(a.waiting, q)
		return
	}
	a.waiting = slices.DeleteFunc(a.waiting, func(other approval.Question) bool { return other.ID == q.ID })
	if q.ID == a.asked.ID { // by another
		a.forget()
		a.s.Out.Printf("\n")
	}
	a.s.Out.Printf("%s\n\n", ended(q))
}

// forget ends the prompt.
func (a *attendant) forget() {
	a.drop()
	a.asked = approval.Question{}
}

// answer sends the answer to the question that was asked.
func (a *attendant) answer(ctx context.Context, t typed) error {
	id := t.id
	if id != a.asked.ID { // it was closed meanwhile
		return nil
	}
	a.forget()
	d, ok := decisionOf(t.answer)
	switch {
	case t.err != nil:
		return t.err
	case !ok:
		a.s.Out.Printf("%s waits on: toolhost approvals approve %s\n\n", id, id)
		return nil
	}
	_, err := a.queue.Answer(ctx, id, d)            // the answer comes back as news
	if tool.CodeOf(err) == tool.CodeAlreadyExists { // another was faster
		return nil
	}
	return err
}
