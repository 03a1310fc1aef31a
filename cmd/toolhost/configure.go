package main

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// configVariable names the configuration file where no flag does.
const configVariable = "TOOLHOST_CONFIG"

// defaultConfig is the file that is read, if it is there, where nobody names another.
const defaultConfig = "toolhost.yaml"

// unconfigured are the commands that no configuration file concerns: what judges it
// has to run with a bad one too, and the demo shows what the host does by itself.
var unconfigured = map[string]bool{
	"config": true, "demo": true, "doctor": true, "version": true, "completion": true, "help": true,
	"trust": true, "reload": true, cobra.ShellCompRequestCmd: true, cobra.ShellCompNoDescRequestCmd: true,
}

// configuration is what the configuration file says, and what of it goes for this
// command.
type configuration struct {
	file   *config.Config // its File is absolute; empty: there is none
	run    setup.Run
	loaded *setup.Loaded // with what it refers to; nil: that was not looked at
}

// begin is what all commands do first.
func (a *app) begin(cmd *cobra.Command) error {
	top := cmd
	for top.HasParent() && top.Parent().HasParent() {
		top = top.Parent()
	}
	if unconfigured[top.Name()] {
		return nil
	}
	return a.configure(top.Name() != "serve")
}

// configure reads the configuration file. Where no flag says otherwise, the command
// does what it says. Once is for a command that does not stay.
func (a *app) configure(once bool) error {
	c, err := a.loadConfig(aCommand)
	if err != nil {
		return err
	}
	a.config = &configuration{file: c, run: setup.Run{Once: once, Lookup: os.LookupEnv}}
	if a.named("carrier") {
		a.config.run.Carrier = plugin.Carrier(a.carrier)
	}
	if c.Root != "" && !a.named("root") {
		a.root = c.Root
	}
	if !a.named("log-level") {
		a.logLevel = c.LogLevel
	}
	return nil
}

// named reports whether somebody gave a global flag.
func (a *app) named(flag string) bool { return a.globals.Changed(flag) }

// configPath is the file, and who names it; nobody: it need not be there.
func (a *app) configPath() (path, by string, err error) {
	path, by = a.configFile, "--config"
	if path == "" {
		path, by = os.Getenv(configVariable), configVariable
	}
	if path == "" {
		path, by = defaultConfig, ""
	}
	path, err = filepath.Abs(path)
	return path, by, err
}

// loadConfig reads the file and checks it. Where there is none, and nobody names one,
// or the one that was found does not count, it is what an empty file says.
func (a *app) loadConfig(on reading) (*config.Config, error) {
	path, by, err := a.configPath()
	if err != nil {
		return nil, &failure{exitUsage, err}
	}
	c, err := setup.Load(path)
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case missing && by == "":
		return config.Default(), nil
	case missing:
		return nil, usage("there is no configuration file "+sanitize.Text(path)+" (from "+by+")", "make it with toolhost config init, or name another with --config")
	}
	// A file with a problem does not count either, unless it is trusted.
	var digest string
	if c != nil {
		digest = c.Digest()
	} else if digest, _ = contentOf(path); digest == "" && by != "" {
		return nil, &failure{exitUsage, err}
	}
	switch ok, why := a.counts(on, digest); {
	case why != nil:
		return nil, &failure{exitUsage, why}
	case !ok && on == aChange:
		return nil, &failure{exitRefused, heldConfig(path)}
	case !ok:
		a.noteUntrusted(path)
		return config.Default(), nil
	}
	if err != nil {
		return nil, &failure{exitUsage, err}
	}
	return c, nil
}

// configured is what the configuration file says; for commands that it does not
// concern, what an empty one says.
func (a *app) configured() *config.Config {
	if a.config == nil {
		return config.Default()
	}
	return a.config.file
}

// resolve looks at what a configuration refers to.
func (a *app) resolve(c *config.Config) (setup.Loaded, error) {
	settings, err := setup.PluginSettings(c, a.config.run)
	if err != nil {
		return setup.Loaded{}, &failure{exitUsage, err}
	}
	disabled, err := readNames(disabledFile)
	if err != nil {
		return setup.Loaded{}, err
	}
	out := setup.Loaded{Config: c, Plugins: disabled.disabledOver(settings, a.namedDirs())}
	if c.HoldNew {
		enabled, err := readNames(enabledFile)
		if err != nil {
			return setup.Loaded{}, err
		}
		out.Hold = enabled.hold
	}
	return out, nil
}

// hostOptions are what the configuration has hosts made with.
func (a *app) hostOptions() ([]host.Option, error) {
	if a.config == nil {
		return nil, nil
	}
	if a.config.loaded == nil {
		l, err := a.resolve(a.config.file)
		if err != nil {
			return nil, err
		}
		a.config.loaded = &l
	}
	l := a.config.loaded
	return append(setup.Options(l.Config), host.WithPluginSettings(l.Plugins.Apply), host.WithHold(l.Hold)), nil
}

// caller is what the configuration gives those who use commands.
func (a *app) caller() setup.Caller { return setup.CallerOf(a.configured(), setup.CLI) }

// chosen is what a flag says, else the file, else the environment.
func chosen(flag, file, variable string) string { return cmp.Or(flag, file, os.Getenv(variable)) }
