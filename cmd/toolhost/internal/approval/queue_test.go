package approval

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func request(caller, args string) policy.Request {
	return policy.Request{
		Call:       tool.Call{ID: "c1", Name: "drop", Arguments: []byte(args)},
		Definition: tool.Definition{Name: "drop", Description: "Drops it.", Sensitive: []string{"token"}},
		Caller:     caller, Via: "mcp", Client: "codex 1.2", Session: "s1",
	}
}

type answer struct {
	policy.Decision
	err error
}

// asked puts a question, and returns it as an operator finds it.
func asked(ctx context.Context, t *testing.T, q *Queue, r policy.Request) (Question, <-chan answer) {
	t.Helper()
	before, changed := q.Open()
	known := map[string]bool{}
	for _, one := range before {
		known[one.ID] = true
	}
	ended := make(chan answer, 1)
	go func() {
		d, err := q.Approve(ctx, r)
		ended <- answer{d, err}
	}()
	for {
		select {
		case a := <-ended:
			t.Fatalf("it was not asked: %+v", a)
		case <-changed:
		}
		var open []Question
		open, changed = q.Open()
		for _, one := range open {
			if !known[one.ID] {
				return one, ended
			}
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	q := NewQueue(nil)
	for _, c := range []struct {
		given policy.Decision
		want  policy.Decision
		state State
	}{
		{policy.Decision{Verdict: policy.Allow, By: "eva", Arguments: []byte(`{"other":1}`)}, policy.Decision{Verdict: policy.Allow, By: "eva"}, Approved},
		{policy.Decision{By: "eva", Reason: "not\x1b[2J now"}, policy.Decision{By: "eva", Reason: `not\x1b[2J now`}, Denied},
		{policy.Decision{Verdict: policy.Fail, By: "eva"}, policy.Decision{By: "eva"}, Denied},
	} {
		one, ended := asked(t.Context(), t, q, request("agent", `{"a":1}`))
		got, err := q.Decide(one.ID, c.given)
		if err != nil || got.State != c.state || got.By != "eva" || got.Ended.IsZero() {
			t.Errorf("%+v: %+v, %v", c.given, got, err)
		}
		if a := <-ended; a.err != nil || a.Verdict != c.want.Verdict || a.By != c.want.By || a.Reason != c.want.Reason || a.Arguments != nil {
			t.Errorf("%+v: the call gets %+v, want %+v", c.given, a, c.want)
		}
		// A second answer is told of the first.
		_, err = q.Decide(one.ID, policy.Decision{Verdict: policy.Allow, By: "bob"})
		if tool.CodeOf(err) != tool.CodeAlreadyExists || !strings.Contains(err.Error(), fmt.Sprintf("was %s by eva", c.state)) {
			t.Errorf("a second answer: %v", err)
		}
	}
	if _, err := q.Decide("nope\x1b", policy.Decision{}); tool.CodeOf(err) != tool.CodeNotFound || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("an ID that is not there: %v", err)
	}
	if n := q.Len(); n != 0 {
		t.Errorf("%d questions are left", n)
	}
}

// Of many who answer at the same time, one does.
func TestOneAnswerCounts(t *testing.T) {
	t.Parallel()
	q := NewQueue(nil)
	one, ended := asked(t.Context(), t, q, request("agent", `{}`))
	var all sync.WaitGroup
	won := make(chan string, 20)
	for i := range 20 {
		all.Go(func() {
			d := policy.Decision{Verdict: policy.Verdict(i % 2), By: fmt.Sprint(i)}
			if _, err := q.Decide(one.ID, d); err == nil {
				won <- d.By
			}
		})
	}
	all.Wait()
	if a := <-ended; len(won) != 1 || a.By != <-won {
		t.Errorf("%d answers were taken, the call has that of %s", len(won)+1, a.By)
	}
}

func TestQuestionAsOperatorsSeeIt(t *testing.T) {
	t.Parallel()
	q := NewQueue(nil)
	r := request("agent", `{"token":"s3cret","path":"a"}`)
	r.Client, r.Definition.Description = "strange\x1b[2J", strings.Repeat("long ", 1<<20)
	previews := 0
	r.Preview = func(context.Context) (tool.Result, error) {
		previews++
		return tool.Text("-old\n+new"), nil
	}
	listed, _ := asked(t.Context(), t, q, r)
	one, err := q.Get(listed.ID)
	if err != nil || one.Preview != "-old\n+new" || listed.Preview != "" || previews != 1 {
		t.Errorf("the preview is %q, in the list %q, after %d previews, %v", one.Preview, listed.Preview, previews, err)
	}
	if want := `{"token":"[redacted]","path":"a"}`; string(one.Arguments) != want || one.Digest != audit.Digest([]byte(want)) {
		t.Errorf("the arguments are %s, %s", one.Arguments, one.Digest)
	}
	if one.Client != `strange\x1b[2J` || len(one.Description) > 300 || one.Via != "mcp" || one.Session != "s1" || one.Call != "c1" || one.Safety != "dangerous" {
		t.Errorf("the question is %+v", one)
	}
	r = request("agent", `{"token":"secret","path":"`+strings.Repeat("ä", maxArguments)+`","force":true}`)
	r.Preview = func(context.Context) (tool.Result, error) { return tool.Text(strings.Repeat("é", maxPreview)), nil }
	long, _ := asked(t.Context(), t, q, r)
	one, _ = q.Get(long.ID)
	if one.Arguments != nil || len(one.Begins) > maxArguments+100 || one.Omitted != "65555 bytes of arguments are not shown, of: path" ||
		!strings.Contains(one.Begins, `"force": true`) || strings.Contains(one.Begins, "secret") {
		t.Errorf("of long arguments there are %d bytes, and missing are %q", len(one.Begins), one.Omitted)
	}
	if len(one.Preview) > maxPreview+100 || !strings.HasSuffix(one.Preview, "é\n(the rest is not shown)") {
		t.Errorf("a long preview has %d bytes, and ends with %q", len(one.Preview), one.Preview[len(one.Preview)-40:])
	}
}

// About a call that would fail no one is asked.
func TestCallThatWouldFail(t *testing.T) {
	t.Parallel()
	q := NewQueue(nil)
	r := request("agent", `{}`)
	r.Preview = func(context.Context) (tool.Result, error) { return tool.Failure("it has changed"), nil }
	if d, err := q.Approve(t.Context(), r); d.Verdict != policy.Fail || err != nil {
		t.Errorf("%+v, %v", d, err)
	}
}

// The bounds hold for all questions and for those of a caller, and a place is free again.
func TestBounds(t *testing.T) {
	t.Parallel()
	q := NewQueue(nil)
	full := func(caller, text string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // it does not wait
		defer cancel()
		_, err := q.Approve(ctx, request(caller, `{}`))
		if tool.CodeOf(err) != tool.CodeResourceExhausted || !strings.Contains(err.Error(), text) || errors.Is(err, policy.ErrCannotAsk) {
			t.Errorf("%s: %v, want %q", caller, err, text)
		}
	}
	var last Question
	for caller, share := range []int{MaxCaller, MaxCaller, MaxCaller, 8, 4, 2, 1} { // each leaves as much as it has
		for range share {
			last, _ = asked(t.Context(), t, q, request(fmt.Sprint(caller), `{}`))
		}
		full(fmt.Sprint(caller), fmt.Sprint(share, " questions of this caller"))
	}
	full("another", "63 questions")
	require.Must(q.Decide(last.ID, policy.Decision{}))(t)
	_, _ = asked(t.Context(), t, q, request("another", `{}`))
}

// A question ends with its call, and says how.
func TestQuestionEndsWithItsCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		late, ended := asked(ctx, t, q, request("agent", `{}`))
		assert.Equalf(t, time.Until(late.Until), time.Minute, "it has")
		if a := <-ended; !errors.Is(a.err, context.DeadlineExceeded) {
			t.Errorf("after its time: %+v", a)
		}
		ctx, cancel = context.WithCancel(t.Context())
		left, ended := asked(ctx, t, q, request("agent", `{}`))
		cancel()
		<-ended
		for id, state := range map[string]State{late.ID: Expired, left.ID: Withdrawn} {
			if got, _ := q.Get(id); got.State != state {
				t.Errorf("it is %s, want %s", got.State, state)
			}
			_, err := q.Decide(id, policy.Decision{Verdict: policy.Allow})
			assert.Equalf(t, tool.CodeOf(err), tool.CodeAlreadyExists, "an answer to what %s: %v", state, err)
		}
	})
}

// What cannot run any more as it was asked about is not approved.
func TestToolThatChanges(t *testing.T) {
	t.Parallel()
	why := ""
	q := NewQueue(func(policy.Request) string { return why })
	one, first := asked(t.Context(), t, q, request("agent", `{}`))
	_, second := asked(t.Context(), t, q, request("agent", `{}`))
	q.Revise()
	if q.Len() != 2 {
		t.Errorf("%d questions are left, and nothing has changed", q.Len())
	}
	why = "the tool is gone"
	if _, err := q.Decide(one.ID, policy.Decision{Verdict: policy.Allow}); tool.CodeOf(err) != tool.CodeAlreadyExists || !strings.Contains(err.Error(), why) {
		t.Errorf("a yes: %v", err)
	}
	q.Revise()
	for _, ended := range []<-chan answer{first, second} {
		if a := <-ended; a.Verdict != policy.Deny || a.Reason != why || a.By != "change of the tool" {
			t.Errorf("the call gets %+v", a)
		}
	}
}

// The end of the queue denies what waits, and what comes later can be asked elsewhere.
func TestEndOfTheQueue(t *testing.T) {
	t.Parallel()
	q := NewQueue(nil)
	_, ended := asked(t.Context(), t, q, request("agent", `{}`))
	q.Close()
	if a := <-ended; a.Verdict != policy.Deny || a.Reason != EndReason || a.By != ByEnd {
		t.Errorf("what waits gets %+v", a)
	}
	if _, err := q.Approve(t.Context(), request("agent", `{}`)); !errors.Is(err, policy.ErrCannotAsk) {
		t.Errorf("what comes later gets %v", err)
	}
}
