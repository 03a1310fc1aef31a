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
	"slices"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"

	"github.com/toolhost/toolhost/internal/need"
	"github.com/toolhost/toolhost/internal/protect"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Plugin is a plugin with more than a list of tools: a name, a version, configuration or
// state. Call [Plugin.Main] from the main function.
type Plugin struct {
	// Name is shown to operators. Default: the base name of the executable.
	Name string
	// Version is shown to operators, preferably a semantic version. Default: none.
	Version string
	// Tools are the tools that the plugin serves. Their names are unique.
	Tools []tool.Tool
	// Set serves tools that change while the plugin runs, besides Tools: [tool.Set.Put] adds
	// and replaces them, [tool.Set.Remove] removes them, at any time, also within Configure or
	// a call, and the host lists them again. Nil: the tools do not change.
	Set *tool.Set
	// Configuration takes the operator's configuration as a Go type, see [Configuration]. Zero:
	// ConfigSchema and Configure say what is taken.
	Configuration Configurator
	// ConfigSchema is the JSON Schema of the configuration that Configure takes, for one that is
	// not a Go type. Empty: the plugin takes no configuration.
	ConfigSchema tool.Schema
	// Configure runs once, before the first call. If it returns an error, the host
	// shows it to the operator and does not use the plugin. Nil: nothing to configure.
	Configure func(context.Context, Config) error
	// KeepsSessions declares that the plugin keeps state for the sessions that call it
	// (see [tool.Call.Session]), which would be lost with its process. The host does not
	// stop such a plugin for being idle while a session that has called it is open.
	KeepsSessions bool
	// SessionEnded runs when a session that has called the plugin has ended, and its calls too, so
	// that its state can be dropped; see [Sessions]. It runs for one session at a time. A plugin
	// that does not run is not started for it, and when the process ends, all sessions have ended.
	// It may run for a session that this process has not seen. Hosts and carriers that cannot tell
	// do not, so that a plugin should bound what it keeps. Not nil: the plugin also KeepsSessions.
	// Default: nil.
	SessionEnded func(ctx context.Context, session string)
	// Health returns why the plugin cannot work, such as a login that has expired or a service that
	// does not answer; nil: it can. The host asks after the start and every 10 seconds, one question
	// at a time, waits 5 seconds, and shows the error to operators: the plugin is degraded. Calls
	// still come. Nil: the host does not ask.
	Health func(context.Context) error
	// Shutdown runs once, after the last call, when the host stops or replaces the plugin: to write
	// what is not written yet, or to log out. It has the time until its context ends, 5 seconds. The
	// host logs its error. It also runs, while calls may still run, when the process gets SIGTERM
	// from someone else, and exits then with status 143. It does not run when the process is killed.
	// Nil: nothing is to be finished.
	Shutdown func(context.Context) error
	// Files names files besides the executable that decide which tools there are, such as a
	// list of tools that the plugin reads: absolute paths, or paths relative to the directory
	// of the executable, at most 256. A host that remembers the tools asks again if one of
	// them has changed. Default: none.
	Files []string
	// Needs is what the plugin's process needs of the system: files outside the workspace, hosts,
	// programs, memory. Once an operator has accepted it, the process gets nothing else, and a
	// later version that needs more runs without until the operator accepts that. It should
	// depend on the version of the plugin alone, and not on where the plugin runs: a lock pins
	// it. Nil: not declared, and the operator is told so; &tool.Needs{}: nothing is needed.
	Needs *tool.Needs
	// Processors is how many processors the plugin's goroutines may use at a time.
	// Zero means one, which makes calls of most tools cheaper, since an answer does
	// not wake a second thread. Use [AllProcessors] for tools that compute for long
	// or in parallel. The environment variable GOMAXPROCS takes precedence.
	Processors int
}

// AllProcessors is the value of [Plugin.Processors] that lets a plugin use every processor.
const AllProcessors = -1

// Config is the configuration that a plugin receives from its host.
type Config struct {
	// Root is the workspace, an absolute path. It is also the working directory.
	Root string
	// JSON is an object that fits [Plugin.ConfigSchema]. Empty: nothing is configured.
	JSON json.RawMessage
	// Protected lists files and directories that tools must not change because they
	// control the host: its configuration, its plugin directories, its log of calls.
	// The paths are absolute, with links resolved, and need not exist. Tools call
	// [Config.CheckWrite] rather than compare paths themselves.
	Protected []string
}

// CheckWrite returns an error if a tool must not write, create, rename, remove or replace
// the file at path: it is protected, is in a protected directory, or is a directory that
// contains a protected path. The path is absolute or relative to Root. A tool that
// changes files calls CheckWrite before each change.
//
// # Errors
//
// [tool.CodePermissionDenied], which the tool may return to the caller. A path that leads
// through too many symbolic links gives an error without a code.
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

// Main serves tools to the host that started this process, and exits the process when
// the host no longer needs it. A main function needs no other call. See [Plugin.Main].
func Main(tools ...tool.Tool) { Plugin{Tools: tools}.Main() }

// Main serves the plugin to the host that started this process, and exits the process
// when the host no longer needs it: with status 0, or with status 1 and a message if it
// cannot serve, for instance because a tool's definition is invalid or no host started it.
//
// What the process prints to standard error is its log. The defaults of log/slog, log and hclog lead
// to it with their levels and attributes, unless the program has set others; [slog.InfoContext] and
// its like name the call that their context belongs to, as [tool.Log] does. What is printed to
// standard output is in the log too. It is meant for the handshake, so the host adds a warning to
// what was printed there before; it takes 64 lines of at most 64 KiB.
//
// With TOOLHOST_DEBUG=1 in the environment and no host, as in a debugger, it prints a line to export,
// TOOLHOST_REATTACH, with which toolhost dev run uses this process. It serves until it is
// interrupted. Hosts come and go, each of them configures the plugin, and output stays as it is.
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
	"put it into a plugin directory and run: toolhost tools; to debug it, set " + wire.DebugVariable + "=1")

func (p *Plugin) serve() error {
	debugged := isDebugged()
	if os.Getenv(wire.CookieKey) != wire.CookieValue && !debugged {
		return errByHand
	}
	leadLogs(os.Stderr, !debugged)
	set, changes, err := p.set()
	if err == nil {
		err = need.Check(p.Needs)
	}
	if err == nil {
		err = p.configured()
	}
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
	features := []string{wire.FeatureStream, wire.FeatureStderr, wire.FeatureAsk}
	if changes || slices.ContainsFunc(p.Tools, func(t tool.Tool) bool { return t.Preview != nil }) {
		features = append(features, wire.FeaturePreview)
	}
	if p.KeepsSessions || p.SessionEnded != nil {
		features = append(features, wire.FeatureSessions)
	}
	if socket != nil {
		features = append(features, wire.FeatureSocket)
	}
	// These variables keep both files reachable: the garbage collector closes files.
	stdout, stderr := os.Stdout, os.Stderr
	// go-plugin would send the output over a stream of the connection, so the last lines
	// before a crash, which matter most, would be lost. Standard error keeps them.
	toStderr := sync.OnceFunc(func() {
		mergeOutput(stdout, stderr)
		os.Stdout, os.Stderr = stderr, stderr
	})
	server := &wire.Server{
		Provider: provider(set, changes), Traced: traced,
		About: wire.Description{
			Name: p.name(), Version: p.Version, SDK: "toolhost-go/" + version,
			ConfigSchema: p.ConfigSchema, Features: features, Files: p.Files, Needs: p.Needs,
		},
	}
	if p.Configure != nil {
		server.OnConfigure = func(ctx context.Context, c wire.Config) error { return p.Configure(ctx, Config(c)) }
	}
	finish := p.lifecycle(server, !debugged)
	defer finish()
	if debugged {
		return p.debug(server)
	}
	if socket != nil {
		// Serve returns when the host closes the socket; at the latest the process exits.
		go func() { _ = server.Serve(context.Background(), socket) }()
	}
	if conn != nil {
		return conn.Serve(server, func(line string) error {
			// The host handles interrupts; go-plugin's Serve ignores them in the same way.
			signal.Notify(make(chan os.Signal, 1), os.Interrupt)
			_, err := stdout.WriteString(line)
			toStderr()
			return err
		})
	}
	server.OnConnect = toStderr // go-plugin has replaced os.Stdout and os.Stderr by then
	config := wire.ServeConfig(server)
	config.Logger = hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: stderr, JSONFormat: true})
	plugin.Serve(config)
	return nil
}

// configured sets what Configuration stands for.
func (p *Plugin) configured() error {
	switch {
	case p.Configuration.configure == nil:
		return nil
	case p.Configure != nil || len(p.ConfigSchema) > 0:
		return errors.New("a plugin has either Configuration, or ConfigSchema and Configure")
	}
	p.ConfigSchema, p.Configure = p.Configuration.schema, p.Configuration.configure
	return nil
}

// set returns the set that the plugin serves, and whether its tools change.
func (p Plugin) set() (set *tool.Set, changes bool, err error) {
	if p.Set == nil {
		set, err = tool.NewSet(p.Tools...)
		return set, false, err
	}
	return p.Set, true, p.Set.Put(p.Tools...)
}

// provider returns what is served of a set. One whose tools do not change sends no notices, so
// that nothing waits for them.
func provider(set *tool.Set, changes bool) tool.Provider {
	if changes {
		return set
	}
	return struct {
		tool.Provider
		tool.Previewer
	}{set, set}
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
