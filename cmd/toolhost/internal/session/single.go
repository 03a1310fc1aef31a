package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// pluginFlag is the flag of commands that may use a single plugin in place of those that are
// installed.
const pluginFlag = "--plugin"

// BindPlugin adds --plugin to a command. With it, the command uses that file alone: no plugin
// directory, no MCP server, no daemon, and no lock that the configuration does not require. What
// hosts remember of the plugins that are installed stays as it is.
func (f *Flags) BindPlugin(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Plugin, pluginFlag[2:], "", "use the plugin in `FILE`, its executable, and nothing else")
	_ = cmd.MarkFlagFilename(pluginFlag[2:]) // it fails for a flag that does not exist
}

// resolvePlugin checks --plugin against the other flags, and makes its path absolute.
func (f *Flags) resolvePlugin() error {
	if f.Plugin == "" {
		return nil
	}
	for _, other := range []string{"plugin-dir", "mcp-config"} {
		if f.Given(other) {
			return exit.Usage("--"+other+" has no effect with "+pluginFlag, "leave one of them out")
		}
	}
	abs, err := filepath.Abs(f.Plugin)
	if err != nil {
		return exit.With(exit.BadUsage, err)
	}
	f.Plugin = abs
	return nil
}

// checkFile returns what is wrong with the word after --plugin. The host checks the rest.
func checkFile(path string) error {
	shown := sanitize.Text(path)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return exit.Usage("there is no file "+shown+" (from "+pluginFlag+")", "build the plugin, or name its executable")
	case err != nil:
		return exit.With(exit.BadUsage, fmt.Errorf("%s cannot be used: %w", pluginFlag, err))
	case info.IsDir():
		return exit.Usage(shown+" (from "+pluginFlag+") is a directory", "name an executable in it, or use --plugin-dir "+shown)
	case !info.Mode().IsRegular():
		return exit.Usage(shown+" (from "+pluginFlag+") is not a regular file", "name the executable of a plugin")
	}
	return nil
}

// onlyFault returns the error of a single plugin that serves nothing; nil: it serves.
func (l *Local) onlyFault() error {
	if l.Host.Len() > 0 || len(l.Faults) == 0 {
		return nil
	}
	fault := *l.Faults[0]
	configured := new(pluginrun.ConfigurationError)
	if fault.Plugin != "" && fault.Code == tool.CodeUnavailable && len(l.Host.Plugins()) > 0 && !errors.As(fault.Err, &configured) {
		fault.Hint, fault.OperatorHint = "", "mend the plugin: toolhost dev verify says what is wrong with one"
	}
	return exit.With(exit.Unavailable, &fault)
}
