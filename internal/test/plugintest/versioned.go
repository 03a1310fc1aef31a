package plugintest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Deploy puts a plugin into a directory in one step, in place of what has its name. It
// is of the mode [Versioned] and of a version: one with "broken" in it does not start,
// one with "more" has another tool, one with "worded" defines the first tool by its
// version, one with "harms" says that it is dangerous, one with "keeps" says that it keeps sessions, one with "raw" serves nothing and says
// what pluginsdk would not. JSON after a space is what it declares to need, in addition to what a
// script needs that runs a program of this test.
func Deploy(t testing.TB, dir, name, version string) {
	t.Helper()
	part := filepath.Join(dir, "."+name)
	if err := os.WriteFile(part, Script(t, version), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	if err := os.Rename(part, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// Script is the text of what Deploy puts there.
func Script(t testing.TB, version string) []byte {
	t.Helper()
	return fmt.Appendf(nil, "#!/bin/sh\nexec '%s' '%s'\n", Install(t, t.TempDir(), string(Versioned)), version)
}

// beVersioned is what such a plugin does. Each call of versioned.count leaves a line in
// the file "ledger" of the workspace.
func beVersioned() {
	version, declared, _ := strings.Cut(os.Args[1], " ")
	var needs *tool.Needs
	if declared != "" {
		if err := json.Unmarshal([]byte(declared), &needs); err != nil {
			panic(err)
		}
		needs.Read, needs.Write, needs.Exec = []string{tool.Any}, []string{tool.Any}, []string{tool.Any}
	}
	if strings.Contains(version, "broken") {
		fmt.Fprintln(os.Stderr, "this version is broken")
		os.Exit(3)
	}
	if strings.Contains(version, "raw") {
		serve(liar{}, wire.Description{Name: "versioned", Version: version, Needs: needs})
	}
	tools := []tool.Tool{
		pluginsdk.Func("versioned.count", "Counts, which cannot be repeated.", func(context.Context, none) (string, error) {
			return version, note("versioned.count")
		}, pluginsdk.Safe()),
		pluginsdk.Func("versioned.wait", "Answers when there is a file with that name in the workspace.", func(ctx context.Context, in struct {
			File string `json:"file"`
		}) (string, error) {
			if err := note("waits"); err != nil {
				return "", err
			}
			return version, awaitFile(ctx, in.File)
		}, pluginsdk.Safe()),
	}
	if strings.Contains(version, "worded") {
		tools[0].Description += " It is version " + version + "."
	}
	if strings.Contains(version, "harms") {
		tools[0].Safety = tool.Dangerous
	}
	if strings.Contains(version, "more") {
		tools = append(tools, pluginsdk.Func("versioned.more", "Is new.", func(context.Context, none) (string, error) { return version, nil }, pluginsdk.Safe()))
	}
	pluginsdk.Plugin{
		Name: "versioned", Version: version, Tools: tools, KeepsSessions: strings.Contains(version, "keeps"), Needs: needs,
	}.Main()
}

// awaitFile waits until a file is there.
func awaitFile(ctx context.Context, name string) error {
	for {
		if _, err := os.Stat(name); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond): // there is no event for it
		}
	}
}
