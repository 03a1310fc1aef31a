package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/internal/form"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

var asks = StreamHooks{Asks: true}

// askingOf returns a request whose caller answers questions.
func askingOf(c tool.Call) []byte { return appendRequest(nil, &request{call: c, ask: true}) }

// asker answers a tool's question with its action, its content and its error.
func asker(ctx context.Context, c tool.Call) (tool.Result, error) {
	a, err := tool.Ask(ctx, tool.Question{Message: string(c.Arguments), Schema: []byte(`{"type":"object"}`)})
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(fmt.Sprintf("%s %s", a.Action, a.Content)), nil
}

func TestStreamAsk(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		s := serve(t, carrier, handlers{"ask": asker}, asks)
		answers := map[string]struct {
			answer tool.Answer
			err    error
			want   string
		}{
			"yes":   {tool.Answer{Action: tool.Accept, Content: []byte(`{"a":1}`)}, nil, `accept {"a":1}`},
			"no":    {tool.Answer{Action: tool.Decline, Content: []byte(`{"a":1}`)}, nil, "decline "},
			"gone":  {tool.Answer{Action: tool.Cancel}, nil, "cancel "},
			"empty": {tool.Answer{}, nil, "cancel "},
			"bad":   {tool.Answer{Action: "maybe"}, nil, "cancel "},
		}
		for message, a := range answers {
			ctx := tool.WithAsker(t.Context(), func(_ context.Context, q tool.Question) (tool.Answer, error) {
				if q.Message != message || string(q.Schema) != `{"type":"object"}` || q.Tool != "" {
					t.Errorf("got %+v", q)
				}
				return a.answer, a.err
			})
			wantText(t, within(t, "the call", begin(ctx, s, tool.Call{Name: "ask", Arguments: []byte(message)})), a.want)
		}
		for _, err := range []error{
			&tool.Error{Code: tool.CodeResourceExhausted, Message: "too many", Hint: "ask less"},
			tool.Errorf(tool.CodeUnsupported, "%s", strings.Repeat("x", 1<<20)),
		} {
			ctx := tool.WithAsker(t.Context(), func(context.Context, tool.Question) (tool.Answer, error) { return tool.Answer{}, err })
			e := wantCode(t, within(t, "the call", begin(ctx, s, tool.Call{Name: "ask", Arguments: []byte("?")})), tool.CodeOf(err))
			if e.Hint != tool.AsError(err).Hint || len(e.Message) > 2*form.MaxMessage {
				t.Errorf("got %.100s (%s)", e.Message, e.Hint)
			}
		}
		huge := tool.Answer{Action: tool.Accept, Content: make([]byte, form.MaxAnswer+1)}
		ctx := tool.WithAsker(t.Context(), func(context.Context, tool.Question) (tool.Answer, error) { return huge, nil })
		_ = wantCode(t, within(t, "a huge answer", begin(ctx, s, tool.Call{Name: "ask", Arguments: []byte("?")})), tool.CodeResourceExhausted)
		settled(t, s.Stream)
	})
}

// Questions cannot be answered: no asker, a plugin that does not know of questions, a unary call.
func TestAskUnsupported(t *testing.T) {
	t.Parallel()
	ctx := tool.WithAsker(t.Context(), func(context.Context, tool.Question) (tool.Answer, error) {
		t.Error("it is asked")
		return tool.Answer{}, nil
	})
	call := tool.Call{Name: "ask", Arguments: []byte("?")}
	onCarriers(t, func(t *testing.T, carrier string) {
		_ = wantCode(t, within(t, "no asker", begin(t.Context(), serve(t, carrier, handlers{"ask": asker}, asks), call)), tool.CodeUnsupported)
		_ = wantCode(t, within(t, "no feature", begin(ctx, serve(t, carrier, handlers{"ask": asker}, StreamHooks{}), call)), tool.CodeUnsupported)

		s, p := withPeer(t, carrier, asks)
		c := begin(t.Context(), s, tool.Call{Name: "x"})
		number, req := p.call()
		if req.ask {
			t.Error("the request says that questions can be answered")
		}
		p.send(raw(kindAsk, number, encodeQuestion(5, tool.Question{Message: "?"})))
		_, b := p.next(kindAnswer)
		if n, a, err := parseAnswer(b); n != 5 || err != nil || tool.CodeOf(a.err) != tool.CodeUnsupported {
			t.Errorf("got %d, %+v, %v", n, a, err)
		}
		p.answer(number, "on")
		wantText(t, within(t, "the call", c), "on")
	})
	g := newGRPCServer(nil)
	Register(g, &Server{Provider: handlers{"ask": asker}})
	client := NewClient(dialTo(t, g))
	_ = wantCode(t, within(t, "a unary call", begin(ctx, client, call)), tool.CodeUnsupported)
}

// A question that cannot be asked is an error in the plugin, at once.
func TestAskMalformed(t *testing.T) {
	t.Parallel()
	s := serve(t, onSocket, handlers{"ask": func(ctx context.Context, c tool.Call) (tool.Result, error) {
		_, err := tool.Ask(ctx, tool.Question{Message: "?", Schema: c.Arguments})
		return tool.Result{}, err
	}}, asks)
	ctx := tool.WithAsker(t.Context(), func(context.Context, tool.Question) (tool.Answer, error) {
		t.Error("it is asked")
		return tool.Answer{}, nil
	})
	for _, schema := range []string{"{", `{"type":"object","properties":{"o":{"type":"object"}}}`} {
		_ = wantCode(t, within(t, schema, begin(ctx, s, tool.Call{Name: "ask", Arguments: []byte(schema)})), tool.CodeInvalidArguments)
	}
}

// Two questions at a time get each its own answer, in whatever order; more than the bound are
// refused, and the call goes on.
func TestAskSeveral(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		const many = maxOpenQuestions + 3
		full := make(chan struct{}) // closed when as many as may be are open, and all others were refused
		s := serve(t, carrier, handlers{"ask": func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			var all sync.WaitGroup
			refused := make(chan error, many)
			for i := range many {
				all.Go(func() {
					message := fmt.Sprint("q", i)
					a, err := tool.Ask(ctx, tool.Question{Message: message})
					if err != nil {
						refused <- err
					} else if want := `"` + message + `"`; string(a.Content) != want {
						t.Errorf("%s: got %s", message, a.Content)
					}
				})
			}
			for range many - maxOpenQuestions {
				if err := <-refused; tool.CodeOf(err) != tool.CodeResourceExhausted {
					t.Errorf("refused with %v", err)
				}
			}
			_, err := tool.Ask(ctx, tool.Question{Message: "open"}) // refused too
			close(full)
			all.Wait()
			return tool.Text(string(tool.CodeOf(err))), nil
		}}, asks)
		ctx := tool.WithAsker(t.Context(), func(ctx context.Context, q tool.Question) (tool.Answer, error) {
			<-full
			return tool.Answer{Action: tool.Accept, Content: []byte(`"` + q.Message + `"`)}, nil
		})
		if o := within(t, "the call", begin(ctx, s, tool.Call{Name: "ask"})); o.err != nil {
			t.Error(o.err)
		}
		settled(t, s.Stream)
	})
}

// A number that is asked again while it is open ends the plugin; one that was answered may be
// used again.
func TestAskNumbers(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		s, p := withPeer(t, carrier, asks)
		answers := make(chan tool.Answer)
		ctx := tool.WithAsker(t.Context(), func(ctx context.Context, _ tool.Question) (tool.Answer, error) {
			select {
			case a := <-answers:
				return a, nil
			case <-ctx.Done():
				return tool.Answer{}, ctx.Err()
			}
		})
		c := begin(ctx, s, tool.Call{Name: "x"})
		number, req := p.call()
		if !req.ask {
			t.Error("the request does not say that questions can be answered")
		}
		question := raw(kindAsk, number, encodeQuestion(0, tool.Question{Message: "?"}))
		for range 2 {
			p.send(question)
			answers <- tool.Answer{Action: tool.Decline}
			if _, b := p.next(kindAnswer); string(b) != string(encodeAnswer(0, tool.Answer{Action: tool.Decline}, nil)) {
				t.Errorf("the answer is %q", b)
			}
		}
		p.send(question)
		_ = p.try(question)
		if o := within(t, "the call", c); !errors.Is(o.err, ErrProtocol) {
			t.Errorf("got %v", o.err)
		}
	})
}

// A call that ends while its question is open takes the question with it.
func TestAskEndsWithCall(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		s := serve(t, carrier, handlers{"ask": asker, "echo": echo}, asks)
		for name, end := range map[string]func(*deadline.Pausable, context.CancelFunc){
			"canceled": func(_ *deadline.Pausable, cancel context.CancelFunc) { cancel() },
			"late":     func(p *deadline.Pausable, _ context.CancelFunc) { p.Cancel(nil) },
		} {
			asked, ended := make(chan struct{}), make(chan struct{})
			parent, cancel := context.WithCancel(tool.WithAsker(t.Context(), func(ctx context.Context, _ tool.Question) (tool.Answer, error) {
				close(asked)
				<-ctx.Done()
				close(ended)
				return tool.Answer{Action: tool.Accept}, nil
			}))
			ctx := deadline.NewPausable(parent, time.Time{}, nil, time.Time{}, nil)
			c := begin(ctx, s, tool.Call{Name: "ask", Arguments: []byte("?")})
			within(t, "the question", asked)
			end(ctx, cancel)
			_ = wantCode(t, within(t, name, c), tool.CodeCanceled)
			within(t, "the end of the question", ended)
			cancel()
		}
		wantText(t, within(t, "another call", begin(t.Context(), s, tool.Call{Name: "echo", Arguments: []byte("on")})), "on")
		settled(t, s.Stream)
	})
}

// The time of a handler stands still while it asks, and goes on afterwards.
func TestAskTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const limit = 300 * time.Millisecond
		s := serve(t, inMemory, handlers{"ask": func(ctx context.Context, c tool.Call) (tool.Result, error) {
			before, _ := ctx.Deadline()
			if res, err := asker(ctx, c); err != nil {
				return res, err
			}
			after, _ := ctx.Deadline()
			if pause := after.Sub(before); pause != 2*limit || ctx.Err() != nil {
				t.Errorf("the deadline has moved by %v, %v", pause, ctx.Err())
			}
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}}, asks)
		parent := tool.WithAsker(t.Context(), func(ctx context.Context, _ tool.Question) (tool.Answer, error) {
			resume := ctx.Value(pauser{}).(*deadline.Pausable).Pause()
			defer resume()
			time.Sleep(2 * limit)
			return tool.Answer{Action: tool.Accept}, nil
		})
		begun := time.Now()
		var ctx *deadline.Pausable
		ctx = deadline.NewPausable(pausedBy{parent, &ctx}, begun.Add(limit), nil, time.Time{}, nil)
		defer ctx.Cancel(nil)
		_ = wantCode(t, within(t, "the call", begin(ctx, s, tool.Call{Name: "ask", Arguments: []byte("?")})), tool.CodeDeadlineExceeded)
		assert.Equalf(t, time.Since(begun), 3*limit, "the call took")
	})
}

// pausedBy is a context that leads to the one that is made of it.
type pausedBy struct {
	context.Context
	p **deadline.Pausable
}

type pauser struct{}

func (c pausedBy) Value(key any) any {
	if key == (pauser{}) {
		return *c.p
	}
	return c.Context.Value(key)
}
