// Command player is a plugin that plays what tests of the command need: it
// waits, ends, fails and answers in odd ways.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func main() {
	// An argument that is JSON is what it declares to need, in addition to what a script needs
	// that runs it.
	var needs *tool.Needs
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "{") {
		if err := json.Unmarshal([]byte(os.Args[1]), &needs); err != nil {
			panic(err)
		}
		needs.Read, needs.Write, needs.Exec = []string{tool.Any}, []string{tool.Any}, []string{tool.Any}
	}
	pluginsdk.Plugin{Name: "player", Needs: needs, Tools: []tool.Tool{
		pluginsdk.Func("play.wait", "Waits until the call is cancelled, after it has opened a FIFO for writing.", wait, pluginsdk.Safe()),
		pluginsdk.Func("play.hold", "Waits until a FIFO that it reads is closed, after it has opened another for writing.", hold, pluginsdk.Safe()),
		pluginsdk.Func("play.exit", "Ends the process with a status, after some last words.", exit, pluginsdk.Safe()),
		pluginsdk.Func("play.panic", "Panics outside of the call's goroutine.", crash, pluginsdk.Safe()),
		pluginsdk.Func("play.stdin", "Counts the bytes on the plugin's standard input.", stdin, pluginsdk.Safe()),
		pluginsdk.Func("play.echo", "Answers with its arguments.\nThis line is not the first.", echo, pluginsdk.Safe()),
		pluginsdk.Func("play.danger", "Answers with its arguments, after a person said yes.", echo, pluginsdk.Dangerous(),
			pluginsdk.Argument("text", `{"pattern":"^(?!never)"}`)), // a pattern that the host does not check
		pluginsdk.Func("play.fail", "Fails.", fail, pluginsdk.Safe()),
		pluginsdk.Func("play.blob", "Answers with the bytes 0 to 255.", blob, pluginsdk.Cautious(), pluginsdk.Categories("odd")),
		pluginsdk.Func("play.nonsense", "Answers with a block of content that is none.", nonsense, pluginsdk.Safe()),
		pluginsdk.Func("play.peek", "Counts the processes with a text in their environments, of those that it may read.", peek, pluginsdk.Safe()),
		pluginsdk.Func("play.large", "Answers with a text so many times.", large, pluginsdk.Safe()),
		pluginsdk.Func("play.visit", "Asks a daemon for its state.", visit, pluginsdk.Safe()),
		pluginsdk.Func("play.ask", "Asks what to play.", ask, pluginsdk.Safe()),
		pluginsdk.Func("play.run", "Runs a program, and answers with what it prints.", run, pluginsdk.Safe()),
		pluginsdk.Func("play.trace", "Answers with the trace, and the span, that it finds.", traced, pluginsdk.Safe()),
		pluginsdk.Func("play.control", "Answers with characters that change a terminal.", control, pluginsdk.Safe()),
	}}.Main()
}

type waitIn struct {
	FIFO string `json:"fifo"`
}

func wait(ctx context.Context, in waitIn) (string, error) {
	f, err := os.OpenFile(in.FIFO, os.O_WRONLY, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	<-ctx.Done()
	return "", ctx.Err()
}

type holdIn struct {
	FIFO  string `json:"fifo"`
	Until string `json:"until"`
	// Stream hands on what the other FIFO has as it comes.
	Stream bool `json:"stream,omitempty"`
	// Report reports each line of the other FIFO, as one of four.
	Report bool `json:"report,omitempty"`
}

func hold(ctx context.Context, in holdIn) (string, error) {
	f, err := os.OpenFile(in.FIFO, os.O_WRONLY, 0)
	if err != nil {
		return "", err
	}
	_ = f.Close()
	if in.Stream || in.Report {
		until, err := os.Open(in.Until)
		if err != nil {
			return "", err
		}
		defer func() { _ = until.Close() }()
		lines := bufio.NewScanner(until)
		for n := 1.; in.Report && lines.Scan(); n++ {
			tool.Report(ctx, tool.Progress{Done: n, Total: 4, Message: lines.Text()})
		}
		_, err = io.Copy(tool.Stream(ctx), until)
		return "that was it", errors.Join(err, lines.Err())
	}
	said, err := os.ReadFile(in.Until)
	return string(said), err
}

type runIn struct {
	Program string `json:"program"`
}

func run(ctx context.Context, in runIn) (string, error) {
	out, err := exec.CommandContext(ctx, in.Program).CombinedOutput()
	return string(out), err
}

type exitIn struct {
	Status int `json:"status"`
}

func exit(_ context.Context, in exitIn) (string, error) {
	fmt.Fprintln(os.Stderr, "goodbye, \x1b[31mworld")
	os.Exit(in.Status)
	return "", nil
}

func crash(ctx context.Context, _ struct{}) (string, error) {
	go panic("out of the blue")
	<-ctx.Done()
	return "", ctx.Err()
}

func stdin(context.Context, struct{}) (string, error) {
	n, err := io.Copy(io.Discard, os.Stdin)
	return fmt.Sprintf("%d bytes, error %v", n, err), nil
}

type echoIn struct {
	Text string `json:"text,omitempty"`
	N    int    `json:"n,omitempty"`
	On   bool   `json:"on,omitempty"`
	Odd  string `json:"$odd,omitempty"` // a name that not every model provider takes
}

func traced(ctx context.Context, _ struct{}) (string, error) {
	slog.WarnContext(ctx, "was here")
	c := trace.SpanContextFromContext(ctx)
	return c.TraceID().String() + " " + c.SpanID().String(), nil
}

func echo(_ context.Context, in echoIn) (echoIn, error) { return in, nil }

func fail(context.Context, struct{}) (string, error) { return "", errors.New("no luck") }

func blob(context.Context, struct{}) (tool.Result, error) {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return tool.Result{Content: []tool.Content{tool.ResourceContent{URI: "play:blob", Blob: b}}}, nil
}

func nonsense(context.Context, struct{}) (tool.Result, error) {
	return tool.Result{Content: []tool.Content{nil}}, nil
}

func control(context.Context, struct{}) (string, error) { return "a\x1b[2Jb\u202ec", nil }

type peekIn struct {
	Text string `json:"text"`
}

type peekOut struct {
	Read  int `json:"read"`
	Found int `json:"found"`
}

func peek(_ context.Context, in peekIn) (out peekOut, err error) {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err != nil || len(env) == 0 {
			continue
		}
		out.Read++
		if bytes.Contains(env, []byte(in.Text)) {
			out.Found++
		}
	}
	return out, err
}

func ask(ctx context.Context, _ struct{}) (string, error) {
	type piece struct {
		Name string `json:"name" jsonschema:"of the piece"`
		Loud bool   `json:"loud,omitempty"`
	}
	p, action, err := pluginsdk.Ask[piece](ctx, "What shall I play?", pluginsdk.Argument("name", `{"enum":["march","waltz"]}`))
	return fmt.Sprintf("%s %s %v", action, p.Name, p.Loud), err
}
