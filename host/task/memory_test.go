package task_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/task"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func newHost(t *testing.T) *host.Host {
	t.Helper()
	h := require.Must(host.New(host.WithRoot(t.TempDir())))(t)
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	return h
}

func named(h *host.Host, name string) *host.Session {
	return h.Session(host.WithCaller(host.Caller{Name: name}))
}

func start(t *testing.T, m task.Store, s *host.Session, run func(context.Context, task.Asker) task.End) task.Task {
	t.Helper()
	out := require.Must(m.Start(t.Context(), task.Call{Session: s, Tool: "t.run", Run: run}))(t)
	if len(out.ID) < 26 || out.State != task.Working || out.Tool != "t.run" || out.Poll <= 0 || out.TTL <= 0 {
		t.Errorf("started %+v", out)
	}
	return out
}

func get(t *testing.T, m task.Store, s *host.Session, id string) task.Task {
	t.Helper()
	out := require.Must(m.Get(t.Context(), s, id))(t)
	return out
}

func wantCode(t *testing.T, err error, code tool.Code) {
	t.Helper()
	assert.Equalf(t, tool.CodeOf(err), code, "got %v, want the code %s", err, code)
}

// until is the run of a call that ends when its context does.
func until(causes chan<- error) func(context.Context, task.Asker) task.End {
	return func(ctx context.Context, _ task.Asker) task.End {
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return task.End{Result: tool.Text("late")}
	}
}

func end(size int) func(context.Context, task.Asker) task.End {
	return func(context.Context, task.Asker) task.End {
		return task.End{Result: tool.Text(strings.Repeat("x", size))}
	}
}

func TestStartRunsTheCall(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	require.NoError(t, h.Register(tool.Tool{
		Definition: tool.Definition{Name: "t.echo", Description: "Answers.", Safety: tool.Safe, InputSchema: tool.Schema(`{"type":"object"}`)},
		Handler: func(_ context.Context, c tool.Call) (tool.Result, error) {
			return tool.Text(c.Caller + string(c.Arguments)), nil
		},
	}))
	m, s := task.NewMemory(task.MemoryOptions{}), named(h, "ann")
	ended := func(name string) task.Task {
		ctx, cancel := context.WithCancel(t.Context())
		made := require.Must(m.Start(ctx, task.Call{Session: s, Tool: name, Arguments: json.RawMessage(`{"a":1}`)}))(t)
		cancel() // which the call outlives
		for {
			if got := get(t, m, s, made.ID); got.State.Over() {
				return got
			}
		}
	}
	got := ended("t.echo")
	if got.State != task.Ended || got.End.Err != nil || !got.End.Outcome.Success || got.End.Result.Text() != `ann{"a":1}` || got.Updated.Before(got.Created) {
		t.Errorf("it ended as %+v", got)
	}
	if got = ended("t.none"); got.End.Outcome.Error == nil || got.End.Outcome.Error.Code != tool.CodeNotFound {
		t.Errorf("it ended as %+v", got.End)
	}
	assert.NoError(t, m.Close(t.Context()))
	_, err := m.Start(t.Context(), task.Call{Session: s, Tool: "t.echo"})
	wantCode(t, err, tool.CodeUnavailable)
	_, err = m.Get(t.Context(), s, got.ID)
	wantCode(t, err, tool.CodeNotFound)
}

func TestOwners(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	m, causes := task.NewMemory(task.MemoryOptions{}), make(chan error, 2)
	ann, ben, none := named(h, "ann"), named(h, "ben"), h.Session()
	theirs, own := start(t, m, ann, until(causes)), start(t, m, none, until(causes))
	get(t, m, named(h, "ann"), theirs.ID) // another session of the same caller
	for _, c := range []struct {
		s  *host.Session
		id string
	}{{ben, theirs.ID}, {none, theirs.ID}, {ann, own.ID}, {h.Session(), own.ID}, {named(h, none.ID()), own.ID}, {ann, ""}} {
		_, err := m.Get(t.Context(), c.s, c.id)
		wantCode(t, err, tool.CodeNotFound)
		wantCode(t, m.Answer(t.Context(), c.s, c.id, nil), tool.CodeNotFound)
		wantCode(t, m.Cancel(t.Context(), c.s, c.id), tool.CodeNotFound)
	}
	assert.NoError(t, m.Cancel(t.Context(), ann, theirs.ID))
	if err := <-causes; err == nil {
		t.Error("the call ended by itself")
	}
	if got := get(t, m, ann, theirs.ID); got.State != task.Cancelled || got.End != nil {
		t.Errorf("cancelled: %+v", got)
	}
	if err := m.Close(t.Context()); err != nil || lookup(m, none, own.ID) == nil || <-causes == nil {
		t.Errorf("Close: %v", err)
	}
}

func lookup(m task.Store, s *host.Session, id string) error {
	_, err := m.Get(context.Background(), s, id)
	return err
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		m, s := task.NewMemory(task.MemoryOptions{}), named(h, "ann")
		said := make(chan string, 40)
		put := func(ctx context.Context, ask task.Asker) {
			a, err := ask(ctx, json.RawMessage(`"?"`))
			if err != nil {
				said <- err.Error()
				return
			}
			said <- string(a)
		}
		made := start(t, m, s, func(ctx context.Context, ask task.Asker) task.End {
			tool.Report(ctx, tool.Progress{Message: strings.Repeat("m", 10_000)})
			put(ctx, ask)
			short, stop := context.WithTimeoutCause(ctx, time.Second, errors.New("too late"))
			defer stop()
			put(short, ask)
			var all sync.WaitGroup
			for range 17 {
				all.Go(func() { put(ctx, ask) })
			}
			all.Wait()
			return task.End{}
		})
		synctest.Wait()
		got := get(t, m, s, made.ID)
		if got.State != task.Asking || string(got.Questions["q1"]) != `"?"` || len(got.Message) > 600 {
			t.Errorf("asking: %+v", got)
		}
		delete(got.Questions, "q1") // a copy
		for range 2 {               // the second time the question is not put
			assert.NoError(t, m.Answer(t.Context(), s, made.ID, map[string]json.RawMessage{"q1": json.RawMessage("1"), "q0": nil}))
		}
		assert.Equalf(t, <-said, "1", "answered")
		synctest.Wait()
		if got = get(t, m, s, made.ID); got.State != task.Asking || got.Questions["q2"] == nil || len(got.Questions) != 1 {
			t.Errorf("asking again: %+v", got)
		}
		assert.Equalf(t, <-said, "too late", "answered")
		assert.Containsf(t, <-said, "16 questions", "the 17th")
		synctest.Wait()
		assert.NoError(t, m.Cancel(t.Context(), s, made.ID))
		for range 16 {
			assert.Equalf(t, <-said, "the task was cancelled", "answered")
		}
		synctest.Wait()
		if got = get(t, m, s, made.ID); got.State != task.Cancelled || len(got.Questions) > 0 {
			t.Errorf("cancelled: %+v", got)
		}
		assert.NoError(t, m.Close(t.Context()))
	})
}

func TestTimeOfTasks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ ttl, kept time.Duration }{
		{0, time.Hour}, {-1, time.Hour}, {time.Nanosecond, time.Nanosecond}, {time.Second, time.Second}, {time.Hour, time.Hour},
		{math.MaxInt64, math.MaxInt64},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t)
			m, s, causes := task.NewMemory(task.MemoryOptions{TTL: c.ttl}), named(h, "ann"), make(chan error, 1)
			running := start(t, m, s, until(causes))
			assert.Equalf(t, running.TTL, c.kept, "kept for")
			if c.kept < math.MaxInt64 {
				time.Sleep(c.kept)
				synctest.Wait()
				wantCode(t, lookup(m, s, running.ID), tool.CodeNotFound)
				if err := <-causes; !strings.Contains(err.Error(), "time") {
					t.Errorf("the call ended by %v", err)
				}
			}
			if c.kept < time.Second {
				return
			}
			least := min(c.kept, 5*time.Minute)
			late := start(t, m, s, func(context.Context, task.Asker) task.End {
				time.Sleep(min(c.kept, 48*time.Hour) - 1)
				return task.End{}
			})
			time.Sleep(min(c.kept, 48*time.Hour) - 1)
			synctest.Wait()
			if got := get(t, m, s, late.ID); got.State != task.Ended || got.TTL < c.kept {
				t.Errorf("at its end it is %+v", got)
			}
			time.Sleep(least - 1)
			synctest.Wait()
			get(t, m, s, late.ID)
			if c.kept < math.MaxInt64 {
				time.Sleep(2 * time.Nanosecond)
				synctest.Wait()
				wantCode(t, lookup(m, s, late.ID), tool.CodeNotFound)
			}
			assert.NoError(t, m.Close(t.Context()))
		})
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		ann, ben := named(h, "ann"), named(h, "ben")
		full := func(m task.Store, s *host.Session) {
			t.Helper()
			_, err := m.Start(t.Context(), task.Call{Session: s, Tool: "t", Run: func(context.Context, task.Asker) task.End { panic("it began") }})
			wantCode(t, err, tool.CodeResourceExhausted)
		}
		m := task.NewMemory(task.MemoryOptions{Max: 3, MaxOwner: 2, TTL: time.Minute})
		start(t, m, ann, end(1))
		start(t, m, ann, end(1))
		full(m, ann)
		start(t, m, ben, end(1))
		full(m, ben)
		time.Sleep(time.Hour)
		synctest.Wait()
		start(t, m, ann, end(1)) // there is room again

		m = task.NewMemory(task.MemoryOptions{MaxBytes: 100, TTL: time.Minute})
		start(t, m, ann, end(50))
		synctest.Wait()
		full(m, ann)
		start(t, m, ben, end(50))
		synctest.Wait()
		full(m, named(h, "cal"))
		time.Sleep(time.Hour)
		synctest.Wait()
		made := start(t, m, ann, func(context.Context, task.Asker) task.End { panic("oh") })
		synctest.Wait()
		if got := get(t, m, ann, made.ID); got.State != task.Ended || got.End.Outcome.Error.Code != tool.CodeInternal {
			t.Errorf("after a panic: %+v", got.End)
		}
	})
}

// Many callers start, ask for and cancel tasks at the same time.
func TestTasksTogether(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	m := task.NewMemory(task.MemoryOptions{TTL: 20 * time.Millisecond, MaxOwner: 10})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			s := h.Session()
			for range 100 {
				made, err := m.Start(t.Context(), task.Call{Session: s, Tool: "t", Run: func(ctx context.Context, ask task.Asker) task.End {
					_, err := ask(ctx, json.RawMessage(`1`))
					return task.End{Err: err}
				}})
				if err != nil {
					continue
				}
				_ = m.Answer(t.Context(), s, made.ID, map[string]json.RawMessage{"q1": nil})
				_ = lookup(m, s, made.ID)
				_ = m.Cancel(t.Context(), s, made.ID)
			}
		})
	}
	all.Wait()
	assert.NoError(t, m.Close(t.Context()))
}
