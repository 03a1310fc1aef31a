package pluginsdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/wire"
)

// Plugin is a plugin with more to say than its tools.
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
}

// Config is what the operator decided for a plugin.
type Config struct {
	// Root is the workspace, an absolute path; also the working directory.
	Root string
	// JSON is an object that fits [Plugin.ConfigSchema]; empty: nothing.
	JSON json.RawMessage
}

// Main serves tools to the host that started this process, and ends the process
// when the host is done with it. It is all that a main function has to call.
func Main(tools ...tool.Tool) { Plugin{Tools: tools}.Main() }

// Main serves the plugin to the host that started this process, and ends the
// process when the host is done with it.
//
// From the host's first word on, os.Stdout and os.Stderr both lead to the
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
	stderr := os.Stderr
	var connect sync.Once
	server := &wire.Server{
		Provider: set,
		About:    wire.Description{Name: p.name(), Version: p.Version, SDK: "toolhost-go/" + Version, ConfigSchema: p.ConfigSchema},
		// go-plugin sends what is printed over a stream of its own, which dies
		// with the connection just when a crash makes the last words matter.
		// The real standard error does not.
		OnConnect: func() { connect.Do(func() { os.Stdout, os.Stderr = stderr, stderr }) },
	}
	if p.Configure != nil {
		server.OnConfigure = func(ctx context.Context, c wire.Config) error { return p.Configure(ctx, Config(c)) }
	}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  wire.Handshake(),
		VersionedPlugins: wire.ServerPlugins(server),
		Logger:           hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: stderr, JSONFormat: true}),
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(wire.MaxMessage), grpc.MaxSendMsgSize(wire.MaxMessage))...)
		},
	})
	return nil
}
