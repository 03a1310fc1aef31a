package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/toolhost/toolhost/internal/test/escape"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// attempts are the attempts by name. Each runs on a thread of its own, which ends with it.
var attempts = map[string]func(*escape.World) escape.Answer{}

// patience bounds an attempt.
const patience = 20 * time.Second

type request struct {
	Name  string       `json:"name"`
	World escape.World `json:"world"`
}

func main() {
	for _, group := range []map[string]func(*escape.World) escape.Answer{
		grants(), reads(), writes(), shared(), processes(), signals(), network(), unixSockets(), programs(), namespaces(), kernel(), compat(), rights(), remains(), limits(),
	} {
		for name, f := range group {
			if attempts[name] != nil {
				panic("two attempts are called " + name)
			}
			attempts[name] = f
		}
	}
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "run":
			serveLines()
			return
		case "victim":
			beVictim()
			return
		case "echo":
			_, _ = os.Stdout.WriteString(os.Args[2])
			return
		case "euid":
			_, _ = os.Stdout.WriteString(strconv.Itoa(os.Geteuid()))
			return
		}
	}
	var needs *tool.Needs
	if text := os.Getenv(escape.NeedsVariable); text != "" {
		if err := json.Unmarshal([]byte(text), &needs); err != nil {
			panic(err)
		}
	}
	pluginsdk.Plugin{Needs: needs, Tools: []tool.Tool{
		pluginsdk.Func("attempt", "Makes an attempt to leave the sandbox.", func(_ context.Context, r request) (escape.Answer, error) {
			return r.make(), nil
		}, pluginsdk.Safe()),
	}}.Main()
}

// make makes an attempt, which may spoil its thread.
func (r request) make() escape.Answer {
	f := attempts[r.Name]
	if f == nil {
		return escape.Answer{Outcome: escape.Inconclusive, Note: "the probe does not have this attempt"}
	}
	ended := make(chan escape.Answer, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		defer func() {
			if p := recover(); p != nil {
				ended <- escape.Answer{Outcome: escape.Inconclusive, Note: fmt.Sprint("panic: ", p)}
			}
		}()
		ended <- f(&r.World)
	}()
	select {
	case a := <-ended:
		return a
	case <-time.After(patience):
		return escape.Answer{Outcome: escape.Inconclusive, Note: fmt.Sprintf("it has not ended after %v", patience)}
	}
}

func serveLines() {
	in, out := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			panic(err)
		}
		if err := out.Encode(r.make()); err != nil {
			panic(err)
		}
	}
}
