package chain

import (
	"context"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// showing is a call whose caller is shown the text of its result as it comes. It is also the
// context of the call. The caller is shown no more than [Output] lets through: what is beyond a
// limit is counted, and not shown.
type showing struct {
	context.Context

	show  func(tool.Delta)
	tool  string
	most  int // bytes of a result; 0: unlimited
	limit int // characters of a result; 0: unlimited

	mu       sync.Mutex
	ended    bool
	fault    *Panic       // of show
	received int          // bytes of the attempt's text
	sum      maphash.Hash // of them
	runes    int          // shown
	shown    int          // bytes shown
}

// showingFor returns the call in ctx if its caller wants deltas, else nil.
func showingFor(ctx context.Context, name string, most, limit int) *showing {
	show := callctx.Get[func(tool.Delta)](ctx, callctx.Deltas{})
	if show == nil {
		return nil
	}
	return &showing{Context: ctx, show: show, tool: name, most: most, limit: limit}
}

type showingKey struct{}

// Value implements [context.Context].
func (s *showing) Value(key any) any {
	switch key.(type) {
	case showingKey:
		return s
	case callctx.Deltas:
		return s.receive
	}
	return s.Context.Value(key)
}

// receive takes what the tool streams.
func (s *showing) receive(d tool.Delta) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
	case d.Reset:
		s.reset()
	default:
		_, _ = s.sum.WriteString(d.Text)
		s.received += len(d.Text)
		if s.most == 0 || s.received <= s.most {
			s.pass(d.Text)
		}
	}
}

// pass shows a text as far as the caller's limit allows. The lock is held.
func (s *showing) pass(text string) {
	if s.limit > 0 {
		text = firstRunes(text, max(s.limit-s.runes, 0))
		s.runes += utf8.RuneCountInString(text)
	}
	if text != "" {
		s.shown += len(text)
		s.tell(tool.Delta{Text: text})
	}
}

// tell calls the caller's function, whose panic is not the tool's.
func (s *showing) tell(d tool.Delta) {
	if s.fault != nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			s.fault = Recovered("what shows the text of a call", v)
		}
	}()
	s.show(d)
}

// again says that another attempt follows one that failed.
func (s *showing) again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reset()
}

func (s *showing) reset() {
	if s.shown > 0 {
		s.tell(tool.Delta{Reset: true})
	}
	s.received, s.shown, s.runes = 0, 0, 0
	s.sum.Reset()
}

// end ends the text of a call.
//
// # Errors
//
// [tool.CodeInvalidResult] for a result that is not what was streamed; [tool.CodeInternal] if the
// caller's function has panicked.
func (s *showing) end(res tool.Result, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	switch {
	case s.fault != nil:
		return &tool.Error{
			Code: tool.CodeInternal, Tool: s.tool, Stage: callstage.Output, Detail: s.fault.Stack, Err: s.fault,
			Message:      fmt.Sprintf("the call of tool %s failed: %v", s.tool, s.fault),
			OperatorHint: "report this to the author of the program that embeds the host",
		}
	case err != nil:
		return err
	case s.received > 0 && !s.begins(firstText(res)):
		return tool.Errorf(tool.CodeInvalidResult,
			"the result of tool %s does not begin with the text that it has streamed", s.tool).
			Of(s.tool, "").At(callstage.Output).Fix("report this to the tool's author")
	}
	return nil
}

// begins reports whether a text begins with what was received.
func (s *showing) begins(text string) bool {
	if len(text) < s.received {
		return false
	}
	var sum maphash.Hash
	sum.SetSeed(s.sum.Seed())
	_, _ = sum.WriteString(text[:s.received])
	return sum.Sum64() == s.sum.Sum64()
}

// finish shows what is left of the text of a result that goes to the caller as it is here.
func (s *showing) finish(res tool.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text := firstText(res); s.shown > 0 && len(text) > s.shown {
		s.tell(tool.Delta{Text: strings.Clone(text[s.shown:])})
	}
}

// firstText returns the text of a result's first block; empty: that is none.
func firstText(res tool.Result) string {
	if len(res.Content) == 0 {
		return ""
	}
	text, _ := res.Content[0].(tool.TextContent)
	return text.Text
}
