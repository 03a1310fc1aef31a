package setup

import (
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// allowed returns what a sandbox lets processes do, a line for each path, host and program, so
// that none is lost at the end of a long line. What said has too was said before.
func allowed(who string, s, said plugin.Sandbox) []string {
	if s.Level == plugin.NoSandbox {
		if said.Level == plugin.NoSandbox {
			return nil
		}
		return []string{"runs " + who + " without a sandbox"}
	}
	if said.Level == plugin.NoSandbox { // its lists were not
		said = plugin.Sandbox{}
	}
	words := map[string]string{tool.Workspace: "the workspace", tool.Cache: "a cache of its own"}
	var out []string
	for _, line := range []struct {
		does, everything string
		given, said      []string
	}{
		{"lets %s read %s", "any file", s.Read, said.Read},
		{"lets %s change %s", "any file", s.Write, said.Write},
		{"lets %s connect to %s", "any host", s.Net, said.Net},
		{"lets %s start %s", "any program", s.Exec, said.Exec},
		{"gives %s your variable %s", tool.Any, s.Env, said.Env},
	} {
		if slices.Equal(line.given, line.said) {
			continue
		}
		words[tool.Any] = line.everything
		for _, one := range line.given {
			if word, ok := words[one]; ok {
				one = word
			}
			out = append(out, fmt.Sprintf(line.does, who, one))
		}
	}
	return out
}
