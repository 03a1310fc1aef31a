package tooltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/toolhost/toolhost/internal/fixture"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// ceiling is the time after which an operation counts as hanging. It is far above what a
// loaded machine needs. The tests of this suite lower it, as they hang on purpose.
var ceiling = time.Minute

// Run checks, in parallel subtests, that the providers that open returns keep the
// contract of [tool.Provider]: a set of functions, a plugin, a host. It calls every safe tool
// with arguments that it makes from the tool's schema, so that a tool must do what it says of
// itself: accept what its schema allows, return what its output schema promises, and end when
// its caller gives up. A tool may fail. Questions that a tool asks are answered in each way, see
// [tool.Ask].
//
// Tools that are not safe are not called, unless calls has one of them, and tools that calls
// names are called as it says: where arguments cannot be guessed, or have to name something
// that is there.
//
// Run calls open several times and closes every provider. One that serves the tools of
// internal/fixture, all but the panicking one, is tested much further, as it is known what they do.
func Run(t *testing.T, open func(t *testing.T) tool.Provider, calls ...tool.Call) {
	t.Helper()
	if open == nil {
		t.Fatal("tooltest.Run was given no function that opens a provider")
	}
	p := open(t)
	t.Cleanup(func() { finish(t, p) })
	defs := list(t, p)
	made := callsOf(t, defs, calls)
	with := func(check func(*testing.T, tool.Provider, []tool.Call)) func(*testing.T, tool.Provider) {
		return func(t *testing.T, p tool.Provider) { check(t, p, made) }
	}
	shared := []check{
		{"List", checkList},
		{"ListIsACopy", checkListIsACopy},
		{"NotFound", checkNotFound},
		{"Calls", with(checkCalls)},
		{"SideBySide", with(checkSideBySide)},
		{"CanceledCalls", with(checkCanceledCalls)},
		{"Questions", with(checkQuestions)},
	}
	own := []check{{"CloseUnused", checkCloseUnused}}
	if slices.ContainsFunc(defs, func(d tool.Definition) bool { return isFixture(d.Name) }) {
		shared, own = append(shared, fixtureChecks...), append(own, fixtureOwnChecks...)
	} else {
		own = append(own, check{"CloseTwice", with(checkCloseTwice)})
	}
	for _, c := range shared {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, p)
		})
	}
	for _, c := range own {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			own := open(t)
			t.Cleanup(func() { finish(t, own) })
			c.run(t, own)
		})
	}
}

// check is one of the suite's, by the name of its subtest.
type check struct {
	name string
	run  func(*testing.T, tool.Provider)
}

// fixtureChecks are those of providers that serve the tools of [Fixture].
var fixtureChecks = []check{
	{"Fixture", checkFixture},
	{"Echo", checkEcho},
	{"NoArguments", checkNoArguments},
	{"Content", checkContent},
	{"Failure", checkFailure},
	{"PlainError", checkPlainError},
	{"CodedError", checkCodedError},
	{"Panic", checkPanic},
	{"Session", checkSession},
	{"Stream", checkStream},
	{"Large", checkLarge},
	{"Garbled", checkGarbled},
	{"Concurrent", checkConcurrent},
	{"Canceled", checkCanceled},
	{"CanceledBefore", checkCanceledBefore},
	{"Deadline", checkDeadline},
}

// fixtureOwnChecks are those that close the provider.
var fixtureOwnChecks = []check{
	{"Close", checkClose},
	{"CloseDuringACall", checkCloseDuringACall},
}

func checkList(t *testing.T, p tool.Provider) {
	defs := list(t, p)
	byName := func(a, b tool.Definition) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(defs, byName) {
		t.Errorf("the list is not sorted: %v", names(defs))
	}
	if again := list(t, p); !reflect.DeepEqual(again, defs) {
		t.Errorf("two calls of List differ:\n%+v\n%+v", defs, again)
	}
	for i, d := range defs {
		if i > 0 && defs[i-1].Name == d.Name {
			t.Errorf("%s is listed twice", d.Name)
		}
		if err := d.Check(); err != nil {
			t.Error(err)
		}
		for _, s := range []tool.Schema{d.InputSchema, d.OutputSchema} {
			if len(s) == 0 {
				continue
			}
			if err := compile(s); err != nil {
				t.Errorf("%s: %v\n%s", d.Name, err, s)
			}
		}
	}
}

// checkFixture checks that the fixture's tools are listed, as they were defined.
func checkFixture(t *testing.T, p tool.Provider) {
	defs := list(t, p)
	byName := func(a, b tool.Definition) int { return strings.Compare(a.Name, b.Name) }
	for _, want := range fixture.Tools() {
		i, found := slices.BinarySearchFunc(defs, want.Definition, byName)
		switch {
		case !found && want.Name == fixture.PanicTool:
		case !found:
			t.Errorf("%s is not listed", want.Name)
		case defs[i].Description != want.Description:
			t.Errorf("%s is described as %q, want %q", want.Name, defs[i].Description, want.Description)
		}
	}
}

func compile(s tool.Schema) error {
	c := jsonschema.NewCompiler()
	c.LoadURL = nil // a schema must not load others
	if err := c.AddResource("schema.json", bytes.NewReader(s)); err != nil {
		return err
	}
	_, err := c.Compile("schema.json")
	return err
}

func checkListIsACopy(t *testing.T, p tool.Provider) {
	defs := list(t, p)
	for i := range defs {
		d := &defs[i]
		d.Name, d.Description = "spoilt", "spoilt"
		for _, s := range []tool.Schema{d.InputSchema, d.OutputSchema} {
			for j := range s {
				s[j] = 'x'
			}
		}
		for _, s := range [][]string{d.Categories, d.Sensitive} {
			for j := range s {
				s[j] = "spoilt"
			}
		}
		if d.RateLimit != nil {
			d.RateLimit.Calls = -1
		}
	}
	for _, d := range list(t, p) {
		for _, s := range []tool.Schema{d.InputSchema, d.OutputSchema} {
			if len(s) > 0 && !json.Valid(s) {
				t.Errorf("%s: two lists share a schema", d.Name)
			}
		}
		if d.Name == "spoilt" || slices.Contains(d.Categories, "spoilt") || slices.Contains(d.Sensitive, "spoilt") {
			t.Errorf("two lists share a definition: %+v", d)
		}
	}
}

func checkEcho(t *testing.T, p tool.Provider) {
	for _, args := range []string{
		`{}`,
		`{"s":"é 世界 \u0000 \\ \" <&>","n":-12.5e3,"b":true,"z":null,"l":[1,[2,{"x":[]}]],"o":{"":{}}}`,
		`{"big":12345678901234567,"long":"` + strings.Repeat("x", 100_000) + `"}`,
	} {
		r, err := execute(t, p, fixture.EchoTool, args)
		if err != nil {
			t.Errorf("%.100s: %v", args, err)
			continue
		}
		if r.IsError {
			t.Errorf("%.100s: the result has IsError", args)
		}
		if !sameJSON(r.Text(), args) || !sameJSON(string(r.Structured), args) {
			t.Errorf("sent %.200s, got the text %.200s and the structure %.200s", args, r.Text(), r.Structured)
		}
	}
}

func checkNoArguments(t *testing.T, p tool.Provider) {
	r, err := execute(t, p, fixture.EchoTool, "")
	if err != nil {
		t.Fatal(err)
	}
	if !sameJSON(r.Text(), `{}`) {
		t.Errorf("a call without arguments reached the tool as %s, want {}", r.Text())
	}
}

func checkContent(t *testing.T, p tool.Provider) {
	got, err := execute(t, p, fixture.ContentTool, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	want := fixture.Content()
	if !sameJSON(string(got.Structured), string(want.Structured)) {
		t.Errorf("structured: %s, want %s", got.Structured, want.Structured)
	}
	if !reflect.DeepEqual(got.Content, want.Content) {
		t.Errorf("content:\n%#v\nwant\n%#v", got.Content, want.Content)
	}
}

func checkNotFound(t *testing.T, p tool.Provider) {
	for _, name := range []string{"test.no_such_tool", "", "no/such\nname", fixture.EchoTool + " "} {
		_, err := execute(t, p, name, `{}`)
		_ = wantError(t, err, tool.CodeNotFound, "")
		if !errors.Is(err, tool.ErrNotFound) {
			t.Errorf("%q: %v is not tool.ErrNotFound", name, err)
		}
	}
}

func checkFailure(t *testing.T, p tool.Provider) {
	r, err := execute(t, p, fixture.FailTool, `{}`)
	if err != nil {
		t.Fatalf("a tool's own failure was returned as an error: %v", err)
	}
	if !r.IsError || r.Text() != fixture.FailText {
		t.Errorf("got %+v, want a failure with the text %q", r, fixture.FailText)
	}
}

func checkPlainError(t *testing.T, p tool.Provider) {
	_, err := execute(t, p, fixture.ErrorTool, `{}`)
	_ = wantError(t, err, tool.CodeToolFailed, "tool "+fixture.ErrorTool+" execution failed: "+fixture.ErrorText)
}

func checkCodedError(t *testing.T, p tool.Provider) {
	for _, code := range []tool.Code{tool.CodeResourceExhausted, tool.CodePermissionDenied, tool.CodeInvalidArguments} {
		_, err := execute(t, p, fixture.CodedTool, fmt.Sprintf(`{"code":%q}`, code))
		if e := wantError(t, err, code, "tool "+fixture.CodedTool+" execution failed: "+fixture.CodedText); e != nil && e.Hint != fixture.CodedHint {
			t.Errorf("%s: the hint is %q, want %q", code, e.Hint, fixture.CodedHint)
		}
	}
}

func checkPanic(t *testing.T, p tool.Provider) {
	if !slices.Contains(names(list(t, p)), fixture.PanicTool) {
		t.Skip("the provider does not serve it")
	}
	_, err := execute(t, p, fixture.PanicTool, `{}`)
	if e := wantError(t, err, tool.CodeToolFailed, fixture.PanicText); e != nil && strings.Contains(e.Error(), "goroutine ") {
		t.Errorf("the message contains a stack, which is not for models: %s", e.Error())
	}
	if _, err := execute(t, p, fixture.EchoTool, `{}`); err != nil {
		t.Errorf("after a panic: %v", err)
	}
}

// checkSession accepts a provider that passes the session on, and one that replaces it.
func checkSession(t *testing.T, p tool.Provider) {
	r, err := within(t, func() (tool.Result, error) {
		return p.Execute(t.Context(), tool.Call{Name: fixture.SessionTool, Session: "the-session"})
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Text() == "" {
		t.Error("the tool sees no session")
	}
}

// checkStream accepts a provider that passes deltas on, and one that does not. The result is the
// same.
func checkStream(t *testing.T, p tool.Provider) {
	for range 5 {
		var shown strings.Builder
		var over atomic.Bool
		ctx := tool.WithDeltas(t.Context(), func(d tool.Delta) {
			if over.Load() || d.Reset || !utf8.ValidString(d.Text) {
				t.Errorf("a delta after the end (%v), or a reset (%v), or no text: %.40q", over.Load(), d.Reset, d.Text)
			}
			shown.WriteString(d.Text)
		})
		for _, ctx := range []context.Context{t.Context(), ctx} {
			r, err := within(t, func() (tool.Result, error) { return p.Execute(ctx, call(fixture.StreamTool, `{}`)) })
			if err != nil {
				t.Fatal(err)
			}
			want := []tool.Content{tool.TextContent{Text: fixture.StreamedText}, tool.TextContent{Text: fixture.StreamedLast}}
			if !reflect.DeepEqual(r.Content, want) {
				t.Fatalf("got %d blocks, %d bytes, %.60q; want the text that is streamed, and %q",
					len(r.Content), len(r.Text()), r.Text(), fixture.StreamedLast)
			}
		}
		if over.Store(true); !strings.HasPrefix(fixture.StreamedText, shown.String()) {
			t.Errorf("the deltas are %d bytes, which are not how the text begins", shown.Len())
		}
	}
}

func checkLarge(t *testing.T, p tool.Provider) {
	const size = 8 << 20
	r, err := execute(t, p, fixture.BlobTool, fmt.Sprintf(`{"bytes":%d}`, size))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Content) != 1 {
		t.Fatalf("%d blocks, want 1", len(r.Content))
	}
	c, ok := r.Content[0].(tool.ResourceContent)
	if !ok || !bytes.Equal(c.Blob, fixture.Pattern(size)) {
		t.Errorf("got a %T with %d bytes, want the %d bytes that the tool returned", r.Content[0], len(c.Blob), size)
	}
}

func checkGarbled(t *testing.T, p tool.Provider) {
	r, err := execute(t, p, fixture.GarbledTool, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	text := r.Text()
	repaired := utf8.ValidString(text) && strings.HasPrefix(text, "good ") && strings.HasSuffix(text, " end")
	if text != fixture.Garbled && !repaired {
		t.Errorf("got %q, want %q or its repair", text, fixture.Garbled)
	}
}

func checkConcurrent(t *testing.T, p tool.Provider) {
	const calls = 64
	var wg sync.WaitGroup
	answers, faults := make([]tool.Result, calls), make([]error, calls)
	begin := make(chan struct{})
	for i := range calls {
		wg.Go(func() {
			<-begin
			if i%8 == 0 {
				if _, err := p.List(t.Context()); err != nil {
					t.Error(err)
				}
			}
			answers[i], faults[i] = p.Execute(t.Context(), call(fixture.EchoTool, fmt.Sprintf(`{"n":%d}`, i)))
		})
	}
	close(begin)
	if _, err := within(t, func() (struct{}, error) { wg.Wait(); return struct{}{}, nil }); err != nil {
		t.Fatal(err)
	}
	for i := range calls {
		if want := fmt.Sprintf(`{"n":%d}`, i); faults[i] != nil || !sameJSON(answers[i].Text(), want) {
			t.Errorf("sent %s, got %s, %v", want, answers[i].Text(), faults[i])
		}
	}
}
