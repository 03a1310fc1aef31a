package worktest_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"
	hashicorp "github.com/hashicorp/go-plugin"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// stock is a plugin on bare go-plugin: it knows no inherited connection, and listens on a path.
const stock plugintest.Mode = "stock"

// sayer has one tool.
type sayer struct{}

func (sayer) List(context.Context) ([]tool.Definition, error) {
	return []tool.Definition{{Name: "say", Description: "Says a word.", Safety: tool.Safe}}, nil
}
func (sayer) Execute(context.Context, tool.Call) (tool.Result, error) { return tool.Text("well"), nil }
func (sayer) Close(context.Context) error                             { return nil }

func beStock() {
	s := &wire.Server{Provider: sayer{}, About: wire.Description{Name: string(stock)}}
	if text := os.Getenv(needsVariable); text != "" {
		if err := json.Unmarshal([]byte(text), &s.About.Needs); err != nil {
			panic(err)
		}
	}
	config := wire.ServeConfig(s)
	config.Logger = hclog.New(&hclog.LoggerOptions{Level: hclog.Off})
	hashicorp.Serve(config)
	os.Exit(0)
}

// kinds are what a plugin can declare that needs little.
var kinds = map[string]*tool.Needs{
	"nothing": {}, "workspace": {Write: []string{tool.Workspace}}, "any program": {Exec: []string{tool.Any}},
	"a program": {Exec: []string{"git"}}, "any host": {Net: []string{tool.Any}}, "a host": {Net: []string{"example.test:443"}}, "undeclared": nil,
}

// inKinds calls a plugin with each of the kinds of needs that are chosen, in each kind of sandbox.
func inKinds(t *testing.T, chosen func(kind string) bool, start func(*testing.T, *tool.Needs, plugin.Settings) *place) {
	t.Helper()
	for kind, needs := range kinds {
		for box, settings := range boxes {
			if box == "undeclared" || !inDay(box) || !chosen(kind) {
				continue
			}
			t.Run(kind+", "+box, func(t *testing.T) {
				t.Parallel()
				if kind == "a host" && settings.Namespace == plugin.NamespaceOff {
					t.Skip("hosts cannot be told apart")
				}
				res, err := start(t, needs, settings).plugin.Execute(t.Context(), tool.Call{ID: "1", Name: "say", Arguments: []byte("{}")})
				if err != nil || res.Text() != "well" {
					t.Errorf("%q, %v", res.Text(), err)
				}
			})
		}
	}
}

func all(string) bool { return true }

func TestStockPlugin(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T, needs *tool.Needs, settings plugin.Settings) *place {
		t.Helper()
		return open(t, stock, needs, settings)
	}
	inKinds(t, all, start)
}

// scripted is a plugin that no SDK has made: HTTP/2 of Node, messages written by hand, and a module
// next to it.
const scripted = `
const http2 = require("node:http2"), path = require("node:path");
const {word} = require("./words/word.js");
const field = (number, bytes) => Buffer.concat([Buffer.from([number << 3 | 2, bytes.length]), Buffer.from(bytes)]);
const needs = text => text ? field(8, Buffer.concat(["read", "write", "net", "exec"].flatMap((name, i) => (JSON.parse(text)[name] || []).map(e => field(i + 1, e))))) : Buffer.alloc(0);
const answers = {
	Describe: () => Buffer.concat([field(1, "scripted"), field(5, Buffer.concat([field(1, "say"), field(3, "Says a word."), field(6, "safe")])), field(7, "words/word.js"), needs(process.env.WORKTEST_NEEDS)]),
	Configure: () => Buffer.alloc(0),
	Execute: () => field(1, field(1, field(1, field(1, word)))),
};
const server = http2.createServer();
server.on("stream", (stream, headers) => {
	const answer = answers[path.basename(headers[":path"])], type = {":status": 200, "content-type": "application/grpc"};
	stream.on("error", () => {});
	if (!headers[":path"].startsWith("/toolhost.plugin.v1.ToolPlugin/") || !answer)
		return stream.respond({...type, "grpc-status": "12"}, {endStream: true});
	stream.on("data", () => {}).on("end", () => {
		const body = answer(), head = Buffer.alloc(5);
		head.writeUInt32BE(body.length, 1);
		stream.respond(type, {waitForTrailers: true});
		stream.on("wantTrailers", () => stream.sendTrailers({"grpc-status": "0"}));
		stream.end(Buffer.concat([head, body]));
	});
});
const socket = path.join(process.env.PLUGIN_UNIX_SOCKET_DIR, "s");
server.listen(socket, () => console.log("1|1|unix|" + socket + "|grpc"));
`

// scriptOf makes the plugin, run by an interpreter as its first line says.
func scriptOf(t *testing.T, interpreter string) plugin.Candidate {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("Node is not here")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"scripted": "#!" + interpreter + scripted, "words/word.js": "exports.word = 'well'"} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	found, skipped, err := pluginrun.Discover(dir)
	if err != nil || len(found) != 1 {
		t.Fatalf("Discover: %v, skipped %v, error %v", found, skipped, err)
	}
	return found[0]
}

func TestScript(t *testing.T) {
	t.Parallel()
	for interpreter, chosen := range map[string]func(kind string) bool{
		"/usr/bin/env node": all,
		"/usr/bin/env -S node --no-warnings": func(kind string) bool {
			return !testing.Short() || kind == "nothing" || kind == "a program"
		},
	} {
		inKinds(t, chosen, func(t *testing.T, needs *tool.Needs, settings plugin.Settings) *place {
			t.Helper()
			return start(t, scriptOf(t, interpreter), needs, settings)
		})
	}
}

// An interpreter that is a script itself, as those of version managers are, starts programs. That
// cannot be known before, and is said.
func TestScriptOfAScript(t *testing.T) {
	t.Parallel()
	shim := filepath.Join(t.TempDir(), "shim")
	if err := os.WriteFile(shim, []byte("#!/bin/sh\nexec node \"$@\"\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	p := prepare(t, scriptOf(t, shim), &tool.Needs{}, plugin.Settings{})
	err := p.plugin.Ready(t.Context())
	assert.ErrorContains(t, err, shim+", is a script that starts other programs")
	anything := plugin.Settings{Sandbox: plugin.Sandbox{Exec: []string{tool.Any}, Read: []string{tool.Any}}}
	start(t, scriptOf(t, shim), &tool.Needs{}, anything)
}
