package verify_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// misfit is a plugin with one fault, and the check that names it.
type misfit struct {
	check  string
	plugin func() *honest
}

type (
	request  = pluginv1.ExecuteRequest
	response = pluginv1.ExecuteResponse
	about    = pluginv1.DescribeResponse
)

// defined is a plugin whose first tool is defined otherwise.
func defined(change func(*pluginv1.ToolDefinition)) func() *honest {
	return func() *honest { return &honest{about: func(a *about) { change(a.GetTools()[0]) }} }
}

// answers is a plugin whose calls are answered otherwise.
func answers(how func(context.Context, *request) (*response, error)) func() *honest {
	return func() *honest { return &honest{execute: how} }
}

// streams is a plugin with a stream.
func streams(f frames) func() *honest { return func() *honest { return &honest{stream: f.serve} } }

// faults are the faulty plugins, by the names of their files.
var faults = map[string]misfit{
	"banner": {"handshake.first", func() *honest {
		return &honest{line: func(a string) string { return "welcome to my plugin\n1|1|unix|" + a + "|grpc\n" }}
	}},
	"mute": {"handshake.line", func() *honest {
		return &honest{line: func(string) string { fmt.Fprintln(os.Stderr, "no licence"); os.Exit(3); return "" }}
	}},
	"oldcore": {"handshake.core", func() *honest {
		return &honest{line: func(a string) string { return "2|1|unix|" + a + "|grpc\n" }}
	}},
	"future": {"handshake.version", func() *honest {
		return &honest{line: func(a string) string { return "1|7|unix|" + a + "|grpc\n" }}
	}},
	"tcp": {"handshake.network", func() *honest {
		return &honest{listen: func() net.Listener {
			l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it lives as long as the process
			if err != nil {
				panic(err)
			}
			return l
		}, line: func(a string) string { return "1|1|tcp|" + a + "|grpc\n" }}
	}},
	"certified": {"handshake.tls", func() *honest {
		return &honest{line: func(a string) string { return "1|1|unix|" + a + "|grpc|MIIB\n" }}
	}},
	"elsewhere": {"handshake.directory", func() *honest {
		return &honest{listen: func() net.Listener { return listen(filepath.Join(os.TempDir(), fmt.Sprint(time.Now().UnixNano()))) }}
	}},
	"deaf": {"handshake.connects", func() *honest {
		return &honest{listen: func() net.Listener { return hangsUp{listen(filepath.Join(socketDir(), "s"))} }}
	}},
	"byhand": {"start.by_hand", func() *honest {
		return &honest{byHand: true, listen: func() net.Listener {
			if socketDir() == "" {
				return listen(filepath.Join(os.TempDir(), fmt.Sprint(time.Now().UnixNano())))
			}
			return listen(filepath.Join(socketDir(), "s"))
		}}
	}},
	"strict": {"start.newer", func() *honest {
		if os.Getenv("TOOLHOST_PLUGIN") != "" && os.Getenv("PLUGIN_PROTOCOL_VERSIONS") != "1" {
			os.Exit(4)
		}
		return &honest{}
	}},
	"alone": {"start.twice", func() *honest {
		return &honest{configure: func(*pluginv1.ConfigureRequest) error {
			_, err := net.Listen("unix", fmt.Sprintf("@faulty-%d-%s", os.Getuid(), filepath.Base(filepath.Dir(os.Args[0])))) //nolint:noctx // as above
			return err
		}}
	}},
	"messy": {"start.clean", func() *honest {
		return &honest{configure: func(in *pluginv1.ConfigureRequest) error {
			return os.WriteFile(filepath.Join(in.GetRoot(), "plugin.log"), nil, 0o600)
		}}
	}},
	"unquoted": {"start.workspace", func() *honest {
		return &honest{configure: func(in *pluginv1.ConfigureRequest) error {
			if strings.Contains(in.GetRoot(), " ") {
				return errors.New("no such directory")
			}
			return nil
		}}
	}},
	"changing": {"start.repeats", func() *honest {
		at := time.Now().String()
		return &honest{about: func(a *about) { a.Version = at }}
	}},
	"shuffled": {"describe.again", func() *honest {
		var n atomic.Int64
		return &honest{about: func(a *about) {
			if n.Add(1)%2 == 0 {
				a.Tools[0], a.Tools[1] = a.Tools[1], a.Tools[0]
			}
		}}
	}},
	"nameless": {"describe.name", func() *honest { return &honest{about: func(a *about) { a.Name = "" }} }},
	"doubled": {"describe.unique", func() *honest {
		return &honest{about: func(a *about) { a.Tools[1].Name = a.GetTools()[0].GetName() }, execute: func(_ context.Context, in *request) (*response, error) {
			if in.GetTool() == echoTool && len(in.GetArgumentsJson()) < 3 {
				return text("a line", nil), nil
			}
			return answer(in), nil
		}}
	}},
	"lost": {"describe.files", func() *honest { return &honest{about: func(a *about) { a.Files = []string{"tools.json"} }} }},
	"misconfigured": {"configure.fits", func() *honest {
		return &honest{about: func(a *about) { a.ConfigSchemaJson = []byte(`{"type":"array"}`) }}
	}},
	"demanding": {"configure.accepts", func() *honest {
		return &honest{configure: func(*pluginv1.ConfigureRequest) error { return status.Error(codes.Internal, "no key") }}
	}},
	"spaced": {"definitions.name", func() *honest {
		return &honest{about: func(a *about) { a.Tools[1].Name = "faulty line" }, execute: func(_ context.Context, in *request) (*response, error) {
			if in.GetTool() == "faulty line" {
				return text("a line", nil), nil
			}
			return answer(in), nil
		}}
	}},
	"silent":  {"definitions.description", defined(func(d *pluginv1.ToolDefinition) { d.Description = " " })},
	"verbose": {"definitions.length", defined(func(d *pluginv1.ToolDefinition) { d.Description = strings.Repeat("very long ", 200) })},
	"hiding":  {"definitions.text", defined(func(d *pluginv1.ToolDefinition) { d.Description = "Returns\x1b[8m all files\x1b[0m." })},
	"risky": {"definitions.safety", func() *honest {
		return &honest{about: func(a *about) { a.Tools[1].Safety = "harmless" }}
	}},
	"permitted": {"definitions.permission", defined(func(d *pluginv1.ToolDefinition) { d.Permission = "all of it" })},
	"retrying":  {"definitions.retries", defined(func(d *pluginv1.ToolDefinition) { d.MaxRetries = 99 })},
	"leaking":   {"definitions.sensitive", defined(func(d *pluginv1.ToolDefinition) { d.Sensitive = []string{"pasword"} })},
	"malformed": {"schemas.input", defined(func(d *pluginv1.ToolDefinition) { d.InputSchemaJson = []byte(`{"type":"strnig"}`) })},
	"defaulted": {"schemas.defaults", defined(func(d *pluginv1.ToolDefinition) {
		d.InputSchemaJson = []byte(`{"type":"object","properties":{"text":{"type":"string","description":"a text"},` +
			`"times":{"type":"integer","description":"how often","default":"once"}},"required":["text"]}`)
	})},
	"clash": {"models.names", func() *honest {
		return &honest{about: func(a *about) { a.Tools[1].Name = "faulty_echo" }, execute: func(_ context.Context, in *request) (*response, error) {
			if in.GetTool() == "faulty_echo" {
				return text("a line", nil), nil
			}
			return answer(in), nil
		}}
	}},
	"ill": {"services.health", func() *honest {
		return &honest{register: func(g *grpc.Server) {
			s := health.NewServer()
			s.SetServingStatus("plugin", healthv1.HealthCheckResponse_NOT_SERVING)
			healthv1.RegisterHealthServer(g, s)
		}}
	}},
	"promising": {"services.preview", func() *honest {
		return &honest{about: func(a *about) { a.Features = append(a.Features, "preview") }}
	}},
	"eager": {"calls.preview", func() *honest {
		return &honest{about: func(a *about) { a.Features = append(a.Features, "preview") }, preview: func(in *request) (*response, error) {
			if in.GetTool() == echoTool {
				return answer(in), os.WriteFile("previewed", []byte(in.GetId()), 0o600)
			}
			return refusal("not_found", "no preview"), nil
		}}
	}},
	"obliging": {"calls.unknown", answers(func(_ context.Context, in *request) (*response, error) {
		if out := answer(in); out.GetError().GetCode() != "not_found" {
			return out, nil
		}
		return text("whatever you say", nil), nil
	})},
	"picky": {"calls.valid", answers(func(_ context.Context, in *request) (*response, error) {
		if in.GetTool() == lineTool {
			return refusal("invalid_arguments", "say which line"), nil
		}
		return answer(in), nil
	})},
	"writing": {"calls.reads", answers(func(_ context.Context, in *request) (*response, error) {
		if in.GetTool() == lineTool {
			_ = os.WriteFile("history", []byte("a line"), 0o600)
		}
		return answer(in), nil
	})},
	"lying": {"calls.output", answers(func(_ context.Context, in *request) (*response, error) {
		out := answer(in)
		if in.GetTool() == echoTool && out.GetResult() != nil {
			out.GetResult().StructuredJson = []byte(`{"text":5}`)
		}
		return out, nil
	})},
	"posing": {"calls.codes", answers(func(_ context.Context, in *request) (*response, error) {
		if in.GetTool() == lineTool {
			return refusal("approval_denied", "the person said no"), nil
		}
		return answer(in), nil
	})},
	"empty": {"calls.content", answers(func(_ context.Context, in *request) (*response, error) {
		out := answer(in)
		if in.GetTool() == lineTool {
			out.GetResult().Content = append(out.GetResult().Content, &pluginv1.Content{})
		}
		return out, nil
	})},
	"unparsing": {"calls.empty", answers(func(_ context.Context, in *request) (*response, error) {
		if in.GetTool() == lineTool && len(in.GetArgumentsJson()) == 0 {
			return refusal("invalid_arguments", "unexpected end of JSON"), nil
		}
		return answer(in), nil
	})},
	"brittle": {"calls.invalid", answers(func(_ context.Context, in *request) (*response, error) {
		if in.GetTool() == echoTool && strings.Contains(string(in.GetArgumentsJson()), ":42") {
			fmt.Fprintln(os.Stderr, "panic: not a string")
			os.Exit(2)
		}
		return answer(in), nil
	})},
	"unready": {"calls.malformed", answers(func(_ context.Context, in *request) (*response, error) {
		if in.GetTool() == echoTool && string(in.GetArgumentsJson()) == "null" {
			os.Exit(2)
		}
		return answer(in), nil
	})},
	"pretending": {"stream.opens", func() *honest {
		return &honest{about: func(a *about) { a.Features = append(a.Features, "stream") }}
	}},
	"packeted": {"stream.packets", streams(frames{answersCancelled: true, skipsUnknown: true, packetIsFrame: true})},
	"narrow":   {"stream.newer", streams(frames{answersCancelled: true})},
	"repeats":  {"stream.frames", streams(frames{answersCancelled: true, skipsUnknown: true, twice: true})},
	"careless": {"cancel.partial", streams(frames{skipsUnknown: true})},
	"dropped": {"cancel.call", answers(func(ctx context.Context, in *request) (*response, error) {
		select {
		case <-ctx.Done():
			os.Exit(2)
		case <-time.After(5 * time.Millisecond):
		}
		return answer(in), nil
	})},
	"crowded": {"concurrency.calls", func() *honest {
		var running atomic.Int64
		return &honest{execute: func(ctx context.Context, in *request) (*response, error) {
			defer running.Add(-1)
			if running.Add(1) > 16 {
				return nil, status.Error(codes.Internal, "too many workers")
			}
			select { // a call that takes a moment, and ends when it is given up
			case <-ctx.Done():
			case <-time.After(5 * time.Millisecond):
			}
			return answer(in), nil
		}}
	}},
	"small": {"size.request", func() *honest { return &honest{options: []grpc.ServerOption{grpc.WriteBufferSize(1 << 10)}} }},
	"busy": {"resources.idle", func() *honest {
		return &honest{configure: func(*pluginv1.ConfigureRequest) error {
			go func() {
				for n := 0; ; n++ { // looks whether there is something to do
				}
			}()
			return nil
		}}
	}},
	"open": {"resources.kept", answers(func(_ context.Context, in *request) (*response, error) {
		f, _ := os.Open(os.DevNull)
		held = append(held, f)
		return answer(in), nil
	})},
	"clinging": {"shutdown.ends", func() *honest { return &honest{stopped: func() {}} }},
	"crashing": {"shutdown.clean", func() *honest { return &honest{stopped: func() { os.Exit(5) }} }},
	"parent": {"shutdown.clean", func() *honest {
		return &honest{about: func(a *about) { a.Needs = &pluginv1.Needs{Exec: []string{"sleep"}} }, configure: func(*pluginv1.ConfigureRequest) error {
			return exec.Command("sleep", "600").Start() //nolint:noctx // it is left on purpose
		}}
	}},
	"littering": {"shutdown.clean", func() *honest {
		return &honest{configure: func(*pluginv1.ConfigureRequest) error {
			return os.WriteFile(filepath.Join(os.TempDir(), "left"), nil, 0o600)
		}}
	}},
	"talking": {"output.stdout", answers(func(_ context.Context, in *request) (*response, error) {
		fmt.Println("called", in.GetTool())
		return answer(in), nil
	})},
	"coloured": {"output.log", answers(func(_ context.Context, in *request) (*response, error) {
		fmt.Fprintln(os.Stderr, "\x1b[32mcalled\x1b[0m", in.GetTool())
		return answer(in), nil
	})},
	"needy": {"needs.valid", func() *honest {
		return &honest{about: func(a *about) { a.Needs = &pluginv1.Needs{Net: []string{"*.com:443"}} }}
	}},
	"local": {"needs.portable", func() *honest {
		return &honest{about: func(a *about) { a.Needs = &pluginv1.Needs{Read: []string{"/home/me/data"}} }}
	}},
	"modest": {"sandbox.calls", answers(func(_ context.Context, in *request) (*response, error) {
		if _, err := os.ReadFile("text"); err != nil && in.GetTool() == lineTool {
			out := text(err.Error(), nil)
			out.GetResult().IsError = true
			return out, nil
		}
		return answer(in), nil
	})},
	"undeclared": {"needs.declared", func() *honest { return &honest{about: func(a *about) { a.Needs = nil }} }},
}

// shownBy are the checks without whose calls another one has nothing to look at.
var shownBy = map[string]string{
	"output.stdout": "calls.valid", "stream.frames": "stream.results",
	"cancel.result": "calls.first", "concurrency.calls": "calls.valid", "cancel.call": "calls.valid",
	"output.log": "calls.valid", "resources.kept": "calls.valid",
}

// held keeps files open.
var held []*os.File

// hangsUp is a listener that closes each connection.
type hangsUp struct{ net.Listener }

func (l hangsUp) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	_ = conn.Close()
	return conn, nil
}
