// Command attacker is a plugin of toolhost that does harm. It has one tool, named
// for the file that it runs from, which says what harm. It starts with a call of
// the tool, and ends with the call or with the process.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/bench/internal/work"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type none struct{}

// attack is what the tool does.
type attack func(context.Context, none) (string, error)

func main() {
	name := filepath.Base(os.Args[0])
	var stdout io.Writer
	if name == "stdout" {
		stdout = realStdout()
	}
	attacks := map[string]attack{
		"stderr_lines": flood(os.Stderr, bytes.Repeat([]byte("one of very many lines\x1b[2J\n"), 2000)),
		"stderr_bytes": flood(os.Stderr, bytes.Repeat([]byte("x"), 64<<10)),
		"stderr_json":  flood(os.Stderr, hostileJSON()),
		"stdout":       flood(stdout, bytes.Repeat([]byte("one of very many lines\x1b[2J\n"), 2000)),
		"log": endless(func(ctx context.Context, _ int) {
			tool.Log(ctx, slog.LevelError, "over and over\x1b[2J")
		}),
		"progress": endless(func(ctx context.Context, i int) {
			tool.Report(ctx, tool.Progress{Done: float64(i), Message: "still at it\x1b[2J"})
		}),
		"gigabyte": func(context.Context, none) (string, error) { return "much more than this", nil }, // see inflated
		"results_8m": func(context.Context, none) (string, error) {
			return work.Run(work.Blob, work.Args{Bytes: work.Large})
		},
		"crash": func(context.Context, none) (string, error) {
			os.Exit(3)
			return "", nil
		},
		"hang": func(context.Context, none) (string, error) { select {} },
		"stop": func(ctx context.Context, _ none) (string, error) {
			tool.Report(ctx, tool.Progress{Message: "stop me now"}) // it cannot itself, in a PID namespace
			<-ctx.Done()
			return "", ctx.Err()
		},
		"cpu": burn, "cpu_quota": burn,
	}
	f := pluginsdk.Func(name, "Does harm.", attacks[name], pluginsdk.Safe())
	p := pluginsdk.Plugin{Tools: []tool.Tool{f}}
	switch name {
	case "gigabyte":
		if err := serveInflated(f); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	case "cpu", "cpu_quota":
		p.Processors = pluginsdk.AllProcessors
	}
	p.Main()
}

// flood writes for as long as the process lives.
func flood(w io.Writer, data []byte) attack {
	return func(context.Context, none) (string, error) {
		for {
			if _, err := w.Write(data); err != nil {
				return "", err
			}
		}
	}
}

// endless does something as fast as it can, until the call is cancelled.
func endless(do func(ctx context.Context, i int)) attack {
	return func(ctx context.Context, _ none) (string, error) {
		for i := 0; ctx.Err() == nil; i++ {
			do(ctx, i)
		}
		return "", ctx.Err()
	}
}

// burn keeps all processors busy, and touches no memory.
func burn(ctx context.Context, _ none) (string, error) {
	var all sync.WaitGroup
	for range runtime.NumCPU() {
		all.Go(func() {
			for x := uint64(1); ctx.Err() == nil; {
				for range 100_000 {
					x ^= x << 13
					x ^= x >> 7
					x ^= x << 17
				}
				if x == 0 { // never; so that it is computed
					return
				}
			}
		})
	}
	all.Wait()
	return "", ctx.Err()
}

// hostileJSON are lines that look like log lines of go-plugin's, with values of the
// wrong types, with depth and with breadth.
func hostileJSON() []byte {
	many := map[string]any{"@message": "many", "@level": "error"}
	for i := range 300 {
		many[fmt.Sprint("key", i)] = i
	}
	broad, err := json.Marshal(many)
	if err != nil {
		panic(err) // it cannot fail
	}
	lines := []string{
		`{"@message":42}`, `{"@message":null,"@level":7}`, `{"@level":[],"@message":"x"}`, `{"@timestamp":{},"@message":"x"}`,
		`{"@message":"x","@module":[[[]]],"@timestamp":"yesterday"}`, `{"@message":`, `{}`, `{"@message":"\u001b[2J\ud800"}`,
		strings.Repeat(`{"a":`, 10_000) + `1` + strings.Repeat(`}`, 10_000),
		`{"@message":"x","a":` + strings.Repeat("[", 7_000) + strings.Repeat("]", 7_000) + `}`,
		string(broad),
	}
	short := strings.Join(lines[:8], "\n") + "\n"
	return []byte(strings.Repeat(short, 200) + strings.Join(lines, "\n") + "\n")
}
