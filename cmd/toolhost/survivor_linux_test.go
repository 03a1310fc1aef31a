package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/binaries"
	"github.com/toolhost/toolhost/internal/test/require"
)

// What a plugin without grants leaves, where there are no namespaces, cannot wait for its end and
// then have the daemon do what a person has to approve: it ends with the plugin.
func TestSurvivorOfAPlugin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	binaries.Install(t, filepath.Join(binaries.Build(t, "internal/test/escape/probe"), "probe"), filepath.Join(w.plugins, "probe"))
	w.configure("plugins: {probe: {namespace: 'off', sandbox: {read: none, write: none, net: none, exec: none}}}")
	w.serve("--grant", "fs:write")

	var about struct {
		InputSchema schema `json:"input_schema"`
	}
	w.run("tools", "show", "attempt", "--json").exits(0).json(&about)
	body := `{"path":"written","content":"x"}`
	world := about.InputSchema.Properties["world"].zero().(map[string]any)
	world["daemon"] = w.socket()
	world["nonce"] = callRequest(fmt.Sprintf(`{"name":"fs.write","yes":true,"grants":["fs:write"],"arguments":%q}`, body))
	arguments := require.Must(json.Marshal(map[string]any{"name": "late-listener", "world": world}))(t)
	var said struct {
		Structured struct{ PID int }
	}
	w.run("call", "attempt", string(arguments), "--json").exits(0).json(&said)
	survivor := require.Must(unix.PidfdOpen(said.Structured.PID, 0))(t)
	t.Cleanup(func() {
		_ = unix.PidfdSendSignal(survivor, unix.SIGKILL, nil, 0)
		_ = unix.Close(survivor)
	})
	w.run("plugins", "restart", "probe").exits(0)
	written := func() bool {
		_, err := os.Stat(filepath.Join(w.root, "written"))
		return err == nil
	}
	w.until("what the plugin has left is gone, or did what it wanted", func() bool {
		return written() || unix.PidfdSendSignal(survivor, 0, nil, 0) != nil // which a zombie gets
	})
	if record := w.run("audit", "--tool", "fs.write", "--json"); written() || strings.Contains(record.stdout, "fs.write") {
		t.Errorf("the daemon has called fs.write for it: %s", record.stdout)
	}
}

// schema is enough of a JSON Schema to know what has to be there.
type schema struct {
	Type       any
	Properties map[string]schema
}

// zero is a value of it that says nothing.
func (s schema) zero() any {
	switch s.Type {
	case "object":
		out := map[string]any{}
		for name, p := range s.Properties {
			out[name] = p.zero()
		}
		return out
	case "integer", "number":
		return 0
	}
	return ""
}
