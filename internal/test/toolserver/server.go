// Package toolserver is a small MCP server that misbehaves when it is told to, and a
// plugin.Connector that reaches it. The program testplugin is the server if it is started under a
// name that begins with [Mode]:
//
//	host.Mount(ctx, toolserver.New(t, "first"))
package toolserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/test/plugintest"
)

// Mode is the beginning of the name of a file that is the server.
const Mode plugintest.Mode = "server"

// Modes are the behaviours of programs for plugintest.Main.
func Modes() map[plugintest.Mode]func() { return map[plugintest.Mode]func(){Mode: serve} }

// What a server is told to do, as one of its arguments.
const (
	Mute       = "mute"       // it never answers
	Leaves     = "leaves"     // it exits with 0 when it has listed its tools
	Quits      = "quits"      // it exits with 3 at once, with last words on standard error
	Stubborn   = "stubborn"   // it ends neither with its standard input nor with SIGTERM
	Grandchild = "grandchild" // a process out of its group holds its pipes
	Describes  = "describes=" // the description of the tool echo
	hangs      = "hangs"      // it does nothing
)

type input struct {
	Text string `json:"text,omitempty" jsonschema:"a text"`
	Code int    `json:"code,omitempty" jsonschema:"an exit status"`
}

// serve serves over standard input and output until they end.
func serve() {
	told, described := map[string]bool{}, "Answers with its text."
	for _, arg := range os.Args[1:] {
		told[arg] = true
		if text, ok := strings.CutPrefix(arg, Describes); ok {
			described = text
		}
	}
	switch {
	case told[Quits]:
		fmt.Fprintln(os.Stderr, "no license found")
		os.Exit(3)
	case told[hangs]:
		plugintest.Hang()
	case told[Mute]:
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	if told[Stubborn] {
		signal.Ignore(syscall.SIGTERM)
		defer plugintest.Hang()
	}
	if told[Grandchild] {
		cmd := exec.Command(os.Args[0], hangs) //nolint:noctx // it outlives this process
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := startAlone(cmd); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "toolserver", Version: "1"}, nil)
	if told[Leaves] {
		s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method == "tools/list" {
					time.AfterFunc(100*time.Millisecond, func() { os.Exit(0) })
				}
				return next(ctx, method, req)
			}
		})
	}
	add(s, described)
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
}

// add adds the tools.
func add(s *mcp.Server, described string) {
	text := func(format string, args ...any) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}, nil, nil
	}
	tool := func(name, about string, run func(context.Context, input) (*mcp.CallToolResult, any, error)) {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: about},
			func(ctx context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
				return run(ctx, in)
			})
	}
	echo := func(_ context.Context, in input) (*mcp.CallToolResult, any, error) { return text("%s", in.Text) }
	tool("echo", described, echo)
	tool("pid", "Answers with the number of its process.", func(context.Context, input) (*mcp.CallToolResult, any, error) {
		return text("%d", plugintest.ProcessNumber())
	})
	tool("look", "Answers with its environment and where it runs.", func(context.Context, input) (*mcp.CallToolResult, any, error) {
		dir, _ := os.Getwd()
		seen, _ := json.Marshal(Seen{Env: os.Environ(), Dir: dir, Args: os.Args})
		return text("%s", seen)
	})
	tool("exit", "Exits in the call.", func(_ context.Context, in input) (*mcp.CallToolResult, any, error) {
		fmt.Fprintln(os.Stderr, "panic: told to exit")
		os.Exit(in.Code)
		return text("")
	})
	tool("hang", "Answers when it is canceled.", func(ctx context.Context, _ input) (*mcp.CallToolResult, any, error) {
		<-ctx.Done()
		return text("canceled")
	})
	var once sync.Once
	flood := func(to *os.File, line string) func(context.Context, input) (*mcp.CallToolResult, any, error) {
		return func(context.Context, input) (*mcp.CallToolResult, any, error) {
			once.Do(func() {
				go func() {
					for chunk := strings.Repeat(line, 64<<10/len(line)); ; {
						if _, err := io.WriteString(to, chunk); err != nil {
							return
						}
					}
				}()
			})
			return text("begun")
		}
	}
	tool("flood", "Floods standard output with one line without end.", flood(os.Stdout, "x"))
	tool("garbage", "Floods standard output with lines that are not JSON.", flood(os.Stdout, "garbage\n"))
	tool("notices", "Floods standard output with notifications.",
		flood(os.Stdout, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`+"\n"))
	tool("noise", "Floods standard error.", flood(os.Stderr, "noise \x1b[31m\n"))
	tool("change", "Changes the description of echo.", func(_ context.Context, in input) (*mcp.CallToolResult, any, error) {
		tool("echo", in.Text, echo)
		return text("changed")
	})
}

// Seen is what the tool look answers with.
type Seen struct {
	Env, Args []string
	Dir       string
}

// startAlone starts a process in a session of its own.
func startAlone(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}
