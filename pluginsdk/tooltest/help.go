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

	"github.com/toolhost/toolhost/internal/fixture"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

var errHangs = errors.New("the call hangs")

// within runs f, and returns errHangs if f takes longer than the ceiling. It then leaves f
// running, so that the other tests can still report their results.
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
		return none, fmt.Errorf("%w: no return within %v", errHangs, ceiling)
	}
}

// begin starts a call and returns a function that waits for its outcome.
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
	// The test's own context has ended by the time its cleanup runs.
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_, err := within(t, func() (struct{}, error) { return struct{}{}, p.Close(ctx) })
	return err
}

// finish closes p after a test. It ignores errors other than a hang: checkClose tests what
// a second Close returns.
func finish(t *testing.T, p tool.Provider) {
	t.Helper()
	if err := closeWithin(t, p, ceiling); errors.Is(err, errHangs) {
		t.Errorf("Close: %v", err)
	}
}

// await polls fixture.WaitedTool until the counts for the key reach want.
func await(t *testing.T, p tool.Provider, key string, want fixture.Tally) {
	t.Helper()
	args := fmt.Sprintf(`{"key":%q,"began":%d,"ended":%d}`, key, want.Began, want.Ended)
	var have fixture.Tally
	for limit := time.Now().Add(ceiling); time.Now().Before(limit); {
		r, err := execute(t, p, fixture.WaitedTool, args)
		if err != nil {
			t.Fatalf("%s: %v", fixture.WaitedTool, err)
		}
		if err := json.Unmarshal([]byte(r.Text()), &have); err != nil {
			t.Fatalf("%s: %v", fixture.WaitedTool, err)
		}
		if have.Began >= want.Began && have.Ended >= want.Ended {
			return
		}
	}
	t.Fatalf("calls of %s: %+v, want %+v", fixture.WaitTool, have, want)
}

// wantError checks that err is a *tool.Error with the code, whose message contains text.
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

// sameJSON reports whether a and b encode the same value. It compares numbers exactly,
// whatever their size and notation.
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

// exact replaces each number in v by its canonical fraction.
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
