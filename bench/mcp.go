package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/bench/internal/work"
)

var (
	served     = figure{"mcp_p50_us", "a call by MCP, p50, one caller, µs"}
	servedTail = figure{"mcp_p99_us", "a call by MCP, p99, one caller, µs"}
	servedRate = figure{"mcp_calls_per_s_64", "calls by MCP in a second, 64 callers"}
	listServed = figure{"mcp_list_ms", "from the start of toolhost serve --mcp stdio to the answer of tools/list, 20 plugins remembered, ms"}
)

// The variants of a call by MCP.
const (
	sdkStdio      = "mcp"         // the SDK's minimal server, on stdio
	sdkHTTP       = "mcp-http"    // the same over HTTP
	servedStdio   = "served"      // toolhost serve --mcp stdio, to a plugin
	servedHTTP    = "served-http" // toolhost serve --mcp http, to a plugin
	servedMounted = "mounted"     // toolhost serve --mcp stdio, to a mounted server on stdio
)

// mcpCalls is the command as an MCP server, against servers that the SDK makes with nothing in between.
func mcpCalls() measurement {
	var variants []*variant
	one := slot{job: work.Small(), callers: 1, length: 500 * time.Millisecond, least: 10}
	many := slot{job: work.Small(), callers: manyCallers, length: 600 * time.Millisecond, least: 2}
	return measurement{
		name: "mcp",
		start: func(ctx context.Context, b *bench) error {
			for _, k := range []kind{
				{sdkStdio, "", startMCP}, {sdkHTTP, "", startMCPOverHTTP},
				{servedStdio, "", startServed}, {servedHTTP, "", startServedOverHTTP}, {servedMounted, "", startMounted},
			} {
				v, err := k.start(ctx, b)
				if err != nil {
					return fmt.Errorf("%s: %w", k.name, err)
				}
				v.name = k.name
				b.cleanup(v.close)
				variants = append(variants, v)
			}
			return nil
		},
		measure: func(ctx context.Context, b *bench) error {
			for i := range variants {
				v := variants[(b.round+i)%len(variants)]
				alone, err := b.drive(ctx, v, one)
				if err != nil {
					return err
				}
				loaded, err := b.drive(ctx, v, many)
				if err != nil {
					return err
				}
				b.add(served, v.name, alone.p50())
				b.add(servedTail, v.name, alone.p99())
				b.add(servedRate, v.name, loaded.rate())
			}
			return nil
		},
		keys: []key{
			{
				name: "mcp_stdio", target: 1.3, value: against(served, servedStdio, sdkStdio),
				about: "p50, toolhost serve --mcp stdio to a plugin, against the SDK's minimal server",
			},
			{
				name: "mcp_http", target: 1.3, value: against(served, servedHTTP, sdkHTTP),
				about: "p50, toolhost serve --mcp http to a plugin, against the SDK's minimal server",
			},
			{
				name: "mcp_mounted", target: 2.1, value: against(served, servedMounted, sdkStdio),
				about: "p50, through toolhost to a mounted stdio server, against that server",
			},
			{
				name: "mcp_tput64_stdio", target: .8, least: true, value: against(servedRate, servedStdio, sdkStdio),
				about: "throughput, 64 callers, stdio, against the SDK's minimal server",
			},
			{
				name: "mcp_tput64_http", target: .8, least: true, value: against(servedRate, servedHTTP, sdkHTTP),
				about: "throughput, 64 callers, HTTP, against the SDK's minimal server",
			},
		},
	}
}

func against(f figure, variant, to string) func(*results) float64 {
	return func(r *results) float64 { return r.ratio(f, variant, to) }
}

// remembered is how many plugins the list of [mcpList] is of.
const remembered = 20

// mcpList is the first answer of a server that a client starts, as clients do: nothing of the
// plugins runs yet.
func mcpList() measurement {
	var list func(context.Context) (float64, error)
	return measurement{
		name: "mcp-list",
		start: func(ctx context.Context, b *bench) error {
			names := make([]string, remembered)
			for i := range names {
				names[i] = fmt.Sprintf("p%02d", i)
			}
			dir, err := b.plugins("remembered", "named", names...)
			if err != nil {
				return err
			}
			list = func(ctx context.Context) (float64, error) {
				begin := time.Now()
				session, _, err := b.serveStdio(ctx, dir)
				if err != nil {
					return 0, err
				}
				for { // a client is answered before all plugins have started, the first time
					tools, err := session.ListTools(ctx, nil)
					if err != nil || len(tools.Tools) >= remembered {
						return milliseconds(time.Since(begin)), errors.Join(err, session.Close())
					}
				}
			}
			_, err = list(ctx) // fills the cache
			return err
		},
		measure: func(ctx context.Context, b *bench) error {
			return b.alternate(listServed, event{"toolhost", func() (float64, error) { return list(ctx) }})
		},
		keys: []key{{
			name: "mcp_list_20_ms", about: "toolhost serve --mcp stdio, from its start to tools/list of 20 remembered plugins, ms", target: 60,
			value: func(r *results) float64 { return r.median(listServed, "toolhost") },
		}},
	}
}

// client is one of MCP.
func client() *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
}

// caller calls tools of a session.
func caller(session *mcp.ClientSession, prefix string) call {
	return func(ctx context.Context, tool string, arguments []byte) (string, error) {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: prefix + tool, Arguments: json.RawMessage(arguments)})
		if err != nil {
			return "", err
		}
		if res.IsError || len(res.Content) != 1 {
			return "", fmt.Errorf("tool %s did not answer with one text", tool)
		}
		text, ok := res.Content[0].(*mcp.TextContent)
		if !ok {
			return "", errors.New("the answer is not text")
		}
		return text.Text, nil
	}
}

// startMCP starts an MCP server with the SDK for Go.
func startMCP(ctx context.Context, b *bench) (*variant, error) {
	cmd := exec.Command(b.binary("mcp")) //nolint:noctx // the session ends it
	session, err := client().Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return nil, err
	}
	return &variant{pid: cmd.Process.Pid, dial: shared(caller(session, "")), close: func() { _ = session.Close() }}, nil
}

// toolhost is the command, which remembers and records in the bench's directory. That is not its
// working directory, and not its records either: it watches the directories of its plugins and of
// its configuration, where records would wake it at each call.
func (b *bench) toolhost(args ...string) *exec.Cmd {
	cmd := exec.Command(b.binary("toolhost"), args...) //nolint:noctx // the session ends it
	cmd.Dir = b.binary("")
	cmd.Env = append(os.Environ(), cacheVariable+"="+filepath.Join(b.dir, "cache"), auditVariable+"=", // the default
		"XDG_DATA_HOME="+b.dir, "XDG_STATE_HOME="+b.dir, "TOOLHOST_SOCKET="+filepath.Join(b.dir, "socket"))
	return cmd
}

// serveStdio starts toolhost serve --mcp stdio with a directory of plugins, and connects to it.
func (b *bench) serveStdio(ctx context.Context, dir string, args ...string) (*mcp.ClientSession, *exec.Cmd, error) {
	cmd := b.toolhost(append([]string{"serve", "--mcp", "stdio", "--grant", work.Permission, "--plugin-dir", dir}, args...)...)
	session, err := client().Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	return session, cmd, err
}

func startServed(ctx context.Context, b *bench) (*variant, error) {
	dir, err := b.plugins("served", "hosted", "bench")
	if err != nil {
		return nil, err
	}
	session, cmd, err := b.serveStdio(ctx, dir)
	if err != nil {
		return nil, err
	}
	return &variant{pid: cmd.Process.Pid, dial: shared(caller(session, "")), close: func() { _ = session.Close() }}, nil
}

// startMounted mounts the server of [startMCP].
func startMounted(ctx context.Context, b *bench) (*variant, error) {
	const name = "up"
	dir, err := b.plugins("none", "")
	if err != nil {
		return nil, err
	}
	config := fmt.Sprintf("mcp_servers:\n  %s: {command: %q}\ntools:\n", name, b.binary("mcp"))
	for _, tool := range work.Tools {
		config += fmt.Sprintf("  %s.%s: {safety: safe}\n", name, tool)
	}
	file := filepath.Join(b.dir, "mounted.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, err
	}
	session, cmd, err := b.serveStdio(ctx, dir, "--config", file)
	if err != nil {
		return nil, err
	}
	return &variant{pid: cmd.Process.Pid, dial: shared(caller(session, name+"_")), close: func() { _ = session.Close() }}, nil
}

func startMCPOverHTTP(ctx context.Context, b *bench) (*variant, error) {
	return b.overHTTP(ctx, exec.Command(b.binary("mcp"), "-http"), "") //nolint:noctx // close ends it
}

func startServedOverHTTP(ctx context.Context, b *bench) (*variant, error) {
	dir, err := b.plugins("served-http", "hosted", "bench")
	if err != nil {
		return nil, err
	}
	token, err := b.toolhost("tokens", "new", "bench").Output()
	if err != nil {
		return nil, err
	}
	return b.overHTTP(ctx, b.toolhost("serve", "--mcp", "http", "--listen", "127.0.0.1:0", "--grant", work.Permission,
		"--log-level", "info", "--plugin-dir", dir), strings.TrimSpace(string(token)))
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/mcp`)

// overHTTP starts a server that says its address on standard error, and connects to it.
func (b *bench) overHTTP(ctx context.Context, cmd *exec.Cmd, token string) (*variant, error) {
	said, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	end := func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}
	var url string
	lines := bufio.NewScanner(said)
	for url == "" && lines.Scan() {
		url = address.FindString(lines.Text())
	}
	if url == "" {
		end()
		return nil, fmt.Errorf("%v does not say its address", cmd.Args)
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	pool := http.DefaultTransport.(*http.Transport).Clone()
	pool.MaxIdleConnsPerHost = manyCallers
	session, err := client().Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: bearer{token, pool}},
	}, nil)
	if err != nil {
		end()
		return nil, err
	}
	return &variant{pid: cmd.Process.Pid, dial: shared(caller(session, "")), close: func() {
		_ = session.Close()
		end()
	}}, nil
}

// bearer adds a token to each request; empty: none.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.next.RoundTrip(r)
}
