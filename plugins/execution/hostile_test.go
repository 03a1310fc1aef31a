package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/execution/internal/program"
)

// ceiling is twenty times what anything here takes.
const ceiling = 2 * time.Minute

// abandon makes a call, and gives it up when a file is there and not empty.
func (p plugin) abandon(t *testing.T, ready, name string, arguments args) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	call, ended := p.NewCall(t, name, arguments), make(chan error, 1)
	go func() {
		_, err := p.Execute(ctx, call)
		ended <- err
	}()
	require.Eventually(t, "the call has made "+ready, func() bool {
		info, err := os.Stat(ready)
		return err == nil && info.Size() > 0 || len(ended) > 0
	})
	cancel()
	return <-ended
}

// How programs end that do not end well: each is an answer, and the session goes on.
func TestProgramsThatFail(t *testing.T) {
	links(t)
	t.Parallel()
	p := sharedShop(t)
	for _, c := range []struct{ form, kind, message, stack string }{
		{"var m map[string]int\nm[\"a\"] = 1", "panic", "assignment to entry in nil map", "form1.go:2"},
		{"panic(fmt.Errorf(\"boo\"))", "panic", "boo", "form2.go:1"},
		{"go func() {\n\tpanic(\"elsewhere\")\n}()\nselect {}", "panic", "panic: elsewhere", "form3.go:2"},
		{"select {}", "panic", "all goroutines are asleep - deadlock!", "form4.go:1"},
		{"os.Exit(3)", "exit", "exit status 3", ""},
		{"var f func(int) int\ndebug.SetMaxStack(1 << 20)\nf = func(i int) int { return f(i) + 1 }\nf(1)", "panic", "stack overflow", ""},
		{"runtime.Goexit()", "panic", "no goroutines (main called runtime.Goexit)", ""},
		{"var p *int\n*p", "panic", "nil pointer dereference", "form8.go:2"},
	} {
		out := p.eval(t, c.form)
		if out.OK || out.Kind != c.kind || !strings.Contains(out.Message, c.message) || !strings.Contains(out.Stack, c.stack) {
			t.Errorf("%s: %s %q, stack %q", c.form, out.Kind, out.Message, out.Stack)
		}
		last := decode[lastError](t, p, "get_last_error", args{})
		if !last.Found || last.Error.Form != c.form || last.Error.Message != out.Message || last.Error.Stack != out.Stack {
			t.Errorf("%s: the last error is %+v", c.form, last.Error)
		}
	}
	if out := p.must(t, "os.Exit(0)"); out.Note == "" {
		t.Errorf("a program that ended itself: %+v", out)
	}
	p.must(t, "go func() { for {} }()\ngo func() { select {} }()") // they end with it
}

func TestEndlessLoop(t *testing.T) {
	links(t)
	t.Parallel()
	p := fresh(t, nil, `{"time": "1s"}`)
	begin := time.Now()
	out := p.eval(t, "os.Stderr.WriteString(\"so far\")\nfor {}")
	if out.OK || out.Kind != "time" || !strings.Contains(out.Message, "after 1s") || strings.Contains(out.Message, "deadlock") {
		t.Errorf("got %s", out.Text())
	}
	if out.Stderr != "so far" || runtime.GOOS == "linux" && !strings.Contains(out.Stack, "form1.go:2") {
		t.Errorf("what it printed is %q, and its stack %q", out.Stderr, out.Stack)
	}
	// Where net is linked, the runtime sees no deadlock.
	out = p.eval(t, "http.DefaultClient.CloseIdleConnections()\nc := make(chan int)\ngo func() { c <- 1\nc <- 2 }()\n<-c\nselect {}")
	if !strings.Contains(out.Message, "looks like a deadlock") && !strings.Contains(out.Message, "all goroutines are asleep") {
		t.Errorf("a deadlock: %s", out.Text())
	}
	for _, leaked := range []string{"toolhost", "runtime.gopark", "goroutine 0"} {
		assert.NotContainsf(t, out.Text(), leaked, "%s is in", leaked)
	}
	if took := time.Since(begin); took > ceiling {
		t.Errorf("it took %v", took)
	}
}

// The caller's deadline ends the program before it ends the call, so that there is an
// answer.
func TestDeadline(t *testing.T) {
	t.Parallel()
	path, r := linked(t, "", "fmt.Println(\"so far\")\ntime.Sleep(time.Hour)")
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
	defer cancel()
	out, err := r.run(ctx, path, t.TempDir())
	if err != nil || out.kind != "time" || out.stdout != "so far\n" || ctx.Err() != nil {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestFlood(t *testing.T) {
	links(t)
	t.Parallel()
	p := fresh(t, nil, `{"output": 1000}`)
	out := p.must(t, "for i := range 100000 {\n\tfmt.Println(\"line\", i)\n\tfmt.Fprintln(os.Stderr, \"fault\", i)\n}")
	for name, text := range map[string]string{"stdout": out.Stdout, "stderr": out.Stderr} {
		if len(text) > 1100 || !strings.Contains(text, "bytes truncated") || !strings.HasSuffix(text, " 99999\n") || !strings.Contains(text, " 0\n") {
			t.Errorf("%s has %d bytes: %s", name, len(text), text)
		}
	}
	out = p.must(t, `strings.Repeat("x", 1<<20)`)
	if n := len(out.Values[0].Value); n > program.MaxValue+100 || !strings.Contains(out.Values[0].Value, "truncated") {
		t.Errorf("a large value has %d bytes", n)
	}
	out = p.must(t, "[]string{\"\\xff\\xfe\"}[0]")
	assert.Equalf(t, out.Values[0].Value, `"\xff\xfe"`, "a value that is not UTF-8: %+v", out.Values)
	if out := p.must(t, "os.Stdout.Write([]byte{0xff, 'a'})"); out.Stdout != "\uFFFDa" {
		t.Errorf("output that is not UTF-8: %q", out.Stdout)
	}
}

// Standard input is empty, the working directory is the workspace, and the
// environment has nothing of the host's.
func TestSurroundings(t *testing.T) {
	links(t)
	t.Setenv("TOOLHOST_PLUGIN", "cookie")
	t.Setenv("PLUGIN_CLIENT_CERT", "certificate")
	p := sharedShop(t)
	out := p.must(t, "io.ReadAll(os.Stdin)")
	if out.Values[0].Value != "[]byte{}" || out.Values[1].Value != "nil" {
		t.Errorf("standard input: %+v", out.Values)
	}

	out = p.must(t, "fmt.Print(os.Getwd())")
	if !strings.HasPrefix(out.Stdout, p.Root+"<nil>") {
		t.Errorf("working directory: %s, want %s", out.Stdout, p.Root)
	}
	for _, name := range []string{"TOOLHOST_PLUGIN", "PLUGIN_CLIENT_CERT", program.ReportVariable} {
		p.is(t, fmt.Sprintf("os.Getenv(%q)", name), `""`, "string")
	}
}
