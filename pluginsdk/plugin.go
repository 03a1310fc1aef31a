package pluginsdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"

	"github.com/toolhost/toolhost/internal/protect"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/wire"
)

// Plugin describes a plugin that needs more than a list of tools: a name, a version,
// configuration or state. Call [Plugin.Main] from the main function.
type Plugin struct {
	// Name and Version are shown to operators. Name defaults to the name of
	// the executable.
	Name, Version string
	// Tools are what the plugin serves.
	Tools []tool.Tool
	// ConfigSchema describes the configuration that Configure takes; empty:
	// none.
	ConfigSchema tool.Schema
	// Configure runs once, before the first call. An error keeps the plugin
	// from being used and is shown to the operator. Nil: nothing to configure.
	Configure func(context.Context, Config) error
	// KeepsSessions says that the plugin keeps state for the sessions that call it
	// (see [tool.Call]'s Session), which would be lost with its process: it is not
	// stopped for idleness while a session lives that has called it.
	KeepsSessions bool
	// Processors is how many processors the plugin's goroutines may use at a time.
	// Default: one, which makes a call cheaper for most tools: answering it wakes
	// no second thread. [AllProcessors] is for tools that compute for long or side
	// by side. The environment variable GOMAXPROCS wins over either.
	Processors int
}

// AllProcessors lets a plugin use every processor; see [Plugin].
const AllProcessors = -1

// Config is what the operator has configured for a plugin.
type Config struct {
	// Root is the workspace, an absolute path; also the working directory.
	Root string
	// JSON is an object that fits [Plugin.ConfigSchema]; empty: nothing.
	JSON json.RawMessage
	// Protected are files and directories that tools must not change, as they rule the
	// host: its configuration, its plugin directories, its log of calls. They are
	// absolute, with links resolved, and need not exist. [Config.CheckWrite] asks them.
	Protected []string
}

// CheckWrite returns an error for a path that a tool must not write, create, rename or
// remove, or rename something to, because it is protected, lies in a protected
// directory, or is that of a directory on the way to one. The path is absolute, or
// relative to Root. A tool that changes files asks before each change.
//
// # Errors
//
// [tool.CodePermissionDenied], for the caller; a plain error where the path leads
// through too many symbolic links.
func (c Config) CheckWrite(path string) error {
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.Root, path)
	}
	covered, err := protect.Covers(c.Protected, path)
	if covered {
		return protect.Refusal(path)
	}
	return err
}

// Main serves tools to the host that started this process, and exits when the host is
// done with it. A main function needs to call nothing else.
func Main(tools ...tool.Tool) { Plugin{Tools: tools}.Main() }

// Main serves the plugin to the host that started this process, and exits when the
// host is done with it.
//
// From its handshake on, os.Stdout and os.Stderr both lead to the
// plugin's standard error, which the host logs: standard output belongs to the
// handshake, and until then nothing may be printed there.
func (p Plugin) Main() {
	if err := p.serve(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", p.name(), err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (p Plugin) name() string {
	if p.Name != "" {
		return p.Name
	}
	return filepath.Base(os.Args[0])
}

var errByHand = errors.New("this is a toolhost plugin, not meant to be run by hand; " +
	"put it into a plugin directory and run: toolhost tools")

func (p Plugin) serve() error {
	if os.Getenv(wire.CookieKey) != wire.CookieValue {
		return errByHand
	}
	set, err := tool.NewSet(p.Tools...)
	if err != nil {
		return err
	}
	p.limitProcessors()
	socket, err := wire.Inherited()
	if err != nil {
		return err
	}
	conn, err := wire.InheritedGRPC()
	if err != nil {
		return err
	}
	features := []string{wire.FeatureStream, wire.FeatureStderr}
	if set.Previews() {
		features = append(features, wire.FeaturePreview)
	}
	if p.KeepsSessions {
		features = append(features, wire.FeatureSessions)
	}
	if socket != nil {
		features = append(features, wire.FeatureSocket)
	}
	// Both are held as long as the process lives: a collected file is closed.
	stdout, stderr := os.Stdout, os.Stderr
	// go-plugin would send what is printed over a stream of its own, which dies with
	// the connection just when a crash makes the last words matter. The real standard
	// error does not.
	toStderr := sync.OnceFunc(func() {
		mergeOutput(stdout, stderr)
		os.Stdout, os.Stderr = stderr, stderr
	})
	server := &wire.Server{
		Provider: set,
		About: wire.Description{
			Name: p.name(), Version: p.Version, SDK: "toolhost-go/" + Version, ConfigSchema: p.ConfigSchema, Features: features,
		},
	}
	if p.Configure != nil {
		server.OnConfigure = func(ctx context.Context, c wire.Config) error { return p.Configure(ctx, Config(c)) }
	}
	if socket != nil {
		// It ends with the host, or with this process.
		go func() { _ = server.Serve(context.Background(), socket) }()
	}
	if conn != nil {
		return conn.Serve(server, func(line string) error {
			// Interrupts are for the host to answer, as with go-plugin's Serve.
			signal.Notify(make(chan os.Signal, 1), os.Interrupt)
			_, err := stdout.WriteString(line)
			toStderr()
			return err
		})
	}
	server.OnConnect = toStderr // by then go-plugin has set both to its own
	config := wire.ServeConfig(server)
	config.Logger = hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: stderr, JSONFormat: true})
	plugin.Serve(config)
	return nil
}

func (p Plugin) limitProcessors() {
	switch n := p.Processors; {
	case os.Getenv("GOMAXPROCS") != "" || n < 0:
	case n == 0:
		runtime.GOMAXPROCS(1)
	default:
		runtime.GOMAXPROCS(n)
	}
}
