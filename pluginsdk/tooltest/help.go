package tooltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

var errHangs = errors.New("it hangs")

// within runs f and gives up on it after the ceiling, leaving it behind: that
// test has failed, and the others should still tell their news.
func within[T any](t *testing.T, f func() (T, error)) (T, error) {
	t.Helper()
	type outcome struct {
		v   T
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		v, err := f()
		done <- outcome{v, err}
	}()
	limit := time.NewTimer(ceiling)
	defer limit.Stop()
	select {
	case o := <-done:
		return o.v, o.err
	case <-limit.C:
		var none T
		return none, fmt.Errorf("%w: nothing came of it in %v", errHangs, ceiling)
	}
}

// begin starts a call; what it returns waits for its end.
func begin(ctx context.Context, p tool.Provider, c tool.Call) func() (tool.Result, error) {
	type outcome struct {
		r   tool.Result
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		r, err := p.Execute(ctx, c)
		done <- outcome{r, err}
	}()
	return func() (tool.Result, error) {
		o := <-done
		return o.r, o.err
	}
}

func call(name, args string) tool.Call {
	c := tool.Call{Name: name}
	if args != "" {
		c.Arguments = json.RawMessage(args)
	}
	return c
}

func execute(t *testing.T, p tool.Provider, name, args string) (tool.Result, error) {
	t.Helper()
	return within(t, func() (tool.Result, error) { return p.Execute(t.Context(), call(name, args)) })
}

func list(t *testing.T, p tool.Provider) []tool.Definition {
	t.Helper()
	defs, err := within(t, func() ([]tool.Definition, error) { return p.List(t.Context()) })
	if err != nil {
		t.Fatalf("List: %v", err)
	}
	return defs
}

func names(defs []tool.Definition) []string {
	var out []string
	for _, d := range defs {
		out = append(out, d.Name)
	}
	return out
}

func closeWithin(t *testing.T, p tool.Provider, limit time.Duration) error {
	t.Helper()
	// Not the test's own context: that has ended when its cleanup runs.
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_, err := within(t, func() (struct{}, error) { return struct{}{}, p.Close(ctx) })
	return err
}

// finish closes what a test has used. How a second Close ends is the business of
// the check of that name.
func finish(t *testing.T, p tool.Provider) {
	t.Helper()
	if err := closeWithin(t, p, ceiling); errors.Is(err, errHangs) {
		t.Errorf("Close: %v", err)
	}
}

// await asks until so many calls have waited under the key.
func await(t *testing.T, p tool.Provider, key string, want tally) {
	t.Helper()
	args := fmt.Sprintf(`{"key":%q,"began":%d,"ended":%d}`, key, want.Began, want.Ended)
	var have tally
	for limit := time.Now().Add(ceiling); time.Now().Before(limit); {
		r, err := execute(t, p, WaitedTool, args)
		if err != nil {
			t.Fatalf("%s: %v", WaitedTool, err)
		}
		if err := json.Unmarshal([]byte(r.Text()), &have); err != nil {
			t.Fatalf("%s: %v", WaitedTool, err)
		}
		if have.Began >= want.Began && have.Ended >= want.Ended {
			return
		}
	}
	t.Fatalf("calls that wait: %+v, want %+v", have, want)
}

// wantError checks the type, the code and a piece of the message.
func wantError(t *testing.T, err error, code tool.Code, text string) *tool.Error {
	t.Helper()
	var e *tool.Error
	if !errors.As(err, &e) {
		t.Errorf("got %v, want a *tool.Error with the code %s", err, code)
		return nil
	}
	if e.Code != code || !strings.Contains(e.Message, text) {
		t.Errorf("got %s: %q, want %s: ...%q...", e.Code, e.Message, code, text)
	}
	return e
}

// sameJSON compares values, not their spelling; numbers of any size exactly.
func sameJSON(a, b string) bool {
	x, errX := parse(a)
	y, errY := parse(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

func parse(s string) (any, error) {
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return exact(v), nil
}

// exact puts each number in its one lowest form.
func exact(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = exact(v[k])
		}
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	case json.Number:
		if n, ok := new(big.Rat).SetString(v.String()); ok {
			return json.Number(n.RatString())
		}
	}
	return v
}
