package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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
	servedCPU  = figure{"mcp_cpu_64_us", "CPU of the server that is called by MCP, or of toolhost, per call, 64 callers, µs"}
	listServed = figure{"mcp_list_ms", "from the start of toolhost serve --mcp stdio to the answer of tools/list, 20 plugins remembered, ms"}
	listCooled = figure{"mcp_list_cold_ms", "from the start of toolhost serve --mcp stdio to the first tools/list, 20 plugins, nothing remembered, ms"}
)

// The variants of a call by MCP.
const (
	sdkStdio      = "sdk"         // the SDK's minimal server, on stdio
	sdkHTTP       = "sdk-http"    // the same over HTTP
	servedStdio   = "served"      // toolhost serve --mcp stdio, to a plugin
	servedTraced  = "traced"      // the same, each call sent to a collector
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
				{sdkStdio, "", startSDK}, {sdkHTTP, "", startSDKOverHTTP},
				{servedStdio, "", startServed}, {servedTraced, "", startTraced}, {servedHTTP, "", startServedOverHTTP}, {servedMounted, "", startMounted},
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
				b.add(servedCPU, v.name, microseconds(loaded.child)/float64(len(loaded.latencies)))
			}
			return nil
		},
		keys: []key{
			{
				name: "mcp_stdio", target: 1.6, value: against(served, servedStdio, sdkStdio),
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
			{
				name: "mcp_tput64_mounted", target: .6, least: true, value: against(servedRate, servedMounted, sdkStdio),
				about: "throughput, 64 callers, through toolhost to a mounted stdio server, against that server",
			},
			{
				name: "mcp_cpu64_traced", target: 1.03, value: against(servedCPU, servedTraced, servedStdio),
				about: "CPU of toolhost per call, 64 callers, each call sent to a collector, against no telemetry",
			},
			{
				name: "mcp_cpu64_mounted_us", target: 150, value: func(r *results) float64 { return r.median(servedCPU, servedMounted) },
				about: "CPU of toolhost per call, 64 callers to a mounted server, µs",
			},
		},
	}
}

func against(f figure, variant, to string) func(*results) float64 {
	return func(r *results) float64 { return r.ratio(f, variant, to) }
}

// remembered is how many plugins the list of [mcpList] is of.
const remembered = 20

// mcpList is the first answer of a server that a client starts, as clients do: with remembered plugins
// nothing of them runs yet.
func mcpList() measurement {
	var dir string
	list := func(ctx context.Context, b *bench, cache string, all bool) (float64, error) {
		cmd := b.serving(dir)
		cmd.Env = append(cmd.Env, cacheVariable+"="+cache)
		begin := time.Now()
		s, err := speak(ctx, cmd)
		if err != nil {
			return 0, err
		}
		defer s.close()
		n, err := s.list(ctx)
		if err == nil && all && n != remembered {
			err = fmt.Errorf("%d of %d tools are listed", n, remembered)
		}
		return milliseconds(time.Since(begin)), err
	}
	return measurement{
		name: "mcp-list",
		start: func(ctx context.Context, b *bench) (err error) {
			names := make([]string, remembered)
			for i := range names {
				names[i] = fmt.Sprintf("p%02d", i)
			}
			dir, err = b.plugins("remembered", "named", names...)
			return err
		},
		measure: func(ctx context.Context, b *bench) error {
			cache, err := os.MkdirTemp(b.dir, "cache-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(cache)               //nolint:errcheck // the parent is removed as well
			cold, err := list(ctx, b, cache, false) // a client is answered before all have started
			if err != nil {
				return err
			}
			if _, err := execute(ctx, b.binary(""), []string{cacheVariable + "=" + cache}, b.binary("toolhost"), "tools", "--plugin-dir", dir); err != nil {
				return err
			}
			b.add(listCooled, "toolhost", cold)
			return b.alternate(listServed, event{"toolhost", func() (float64, error) { return list(ctx, b, cache, true) }})
		},
		keys: []key{
			{
				name: "mcp_list_20_ms", about: "toolhost serve --mcp stdio, from its start to tools/list of 20 remembered plugins, ms", target: 15,
				value: func(r *results) float64 { return r.median(listServed, "toolhost") },
			},
			{
				name: "mcp_list_20_cold_ms", about: "the same, nothing remembered, ms", target: 45,
				value: func(r *results) float64 { return r.median(listCooled, "toolhost") },
			},
		},
	}
}

// startMCP starts an MCP server with the SDK for Go, and a client of it.
func startMCP(ctx context.Context, b *bench) (*variant, error) {
	cmd := exec.Command(b.binary("mcp")) //nolint:noctx // the session ends it
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return nil, err
	}
	return &variant{pid: cmd.Process.Pid, close: func() { _ = session.Close() }, dial: shared(func(ctx context.Context, tool string, arguments []byte) (string, error) {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
		if err != nil {
			return "", err
		}
		if len(res.Content) == 1 && !res.IsError {
			if text, ok := res.Content[0].(*mcp.TextContent); ok {
				return text.Text, nil
			}
		}
		return "", fmt.Errorf("tool %s did not answer with one text", tool)
	})}, nil
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

// serving is toolhost serve --mcp stdio with a directory of plugins.
func (b *bench) serving(dir string, args ...string) *exec.Cmd {
	cmd := b.toolhost(append([]string{"serve", "--mcp", "stdio", "--grant", work.Permission, "--plugin-dir", dir}, args...)...)
	cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+dir+"-state") // what others remember of a hundred plugins would be read, too
	return cmd
}

// variant is a session whose tools' names begin with a prefix.
func (s *session) variant(prefix string) *variant {
	return &variant{pid: s.cmd.Process.Pid, dial: shared(s.caller(prefix)), close: s.close}
}

// startSDK starts an MCP server of the SDK.
func startSDK(ctx context.Context, b *bench) (*variant, error) {
	s, err := speak(ctx, exec.Command(b.binary("mcp"))) //nolint:noctx // the session ends it
	if err != nil {
		return nil, err
	}
	return s.variant(""), nil
}

func startServed(ctx context.Context, b *bench) (*variant, error) { return b.served(ctx, "served") }

func startTraced(ctx context.Context, b *bench) (*variant, error) {
	arrived := make(chan struct{}, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case arrived <- struct{}{}:
		default:
		}
	}))
	b.cleanup(collector.Close)
	v, err := b.served(ctx, "traced", "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL)
	if err != nil {
		return nil, err
	}
	c, err := v.dial(ctx)
	if err == nil {
		err = c.do(ctx, work.Small())
	}
	select {
	case <-arrived:
	case <-time.After(closing):
		err = errors.Join(err, errors.New("no span arrives"))
	}
	if err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

// served starts toolhost with a plugin and an environment.
func (b *bench) served(ctx context.Context, name string, env ...string) (*variant, error) {
	dir, err := b.plugins(name, "hosted", "bench")
	if err != nil {
		return nil, err
	}
	cmd := b.serving(dir)
	cmd.Env = append(cmd.Env, env...)
	s, err := speak(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return s.variant(""), nil
}

// startMounted mounts the server of [startSDK].
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
	s, err := speak(ctx, b.serving(dir, "--config", file))
	if err != nil {
		return nil, err
	}
	return s.variant(name + "_"), nil
}

func startSDKOverHTTP(ctx context.Context, b *bench) (*variant, error) {
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
	e, err := post(ctx, url, token)
	if err != nil {
		end()
		return nil, err
	}
	return &variant{pid: cmd.Process.Pid, close: end, dial: func(ctx context.Context) (call, error) {
		s, err := e.dial(ctx)
		if err != nil {
			return nil, err
		}
		return s.caller(""), nil
	}}, nil
}
