package plugintest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// NamedTools is how many tools a [Named] plugin serves: t0 and on, behind its own
// name and a dot. Each answers with the process number.
const NamedTools = 5

func namedTools() []tool.Tool {
	plugin := filepath.Base(os.Args[0])
	var out []tool.Tool
	for i := range NamedTools {
		out = append(out, pluginsdk.Func(fmt.Sprintf("%s.t%d", plugin, i), "Tells the process number, for tests of many plugins.", pid, pluginsdk.Safe()))
	}
	return out
}

type look struct {
	Path      string `json:"path,omitempty" jsonschema:"a file in the workspace"`
	Limit     int    `json:"limit,omitempty" jsonschema:"how many"`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"below too"`
}

func pid(context.Context, look) (int, error) { return ProcessNumber(), nil }

// Definitions is a file of the workspace with the JSON of the definitions that
// [Outside] serves. Each tool answers "done" and leaves its name in "ledger".
const Definitions = "definitions.json"

func describeOutside() {
	var l liar
	text, err := os.ReadFile(Definitions)
	if err == nil {
		err = json.Unmarshal(text, &l.defs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	l.ran = note
	serve(l, wire.Description{})
}

// Ran counts the calls in a workspace that tools of [Outside] have run.
func Ran(root string) int {
	ledger, _ := os.ReadFile(filepath.Join(root, "ledger")) // none: no calls
	return strings.Count(string(ledger), "\n")
}
