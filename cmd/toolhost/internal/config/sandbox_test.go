package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

const sandboxed = `
defaults:
  sandbox: {level: strict, read: [workspace, shared, /opt/data], net: [a.example:443, b.example:443], exec: [git, bin/x], memory: 512MiB, env: [PATH, LANG]}
plugins:
  narrow:
    sandbox: {read: [/opt/other], write: workspace, net: none, exec: any, cpu: 0.5, pids: 64, files: 1024, disk: 1 GiB, env: none}
  plain: {sandbox: {level: best-effort, read: declared, net: declared, memory: declared, env: default}}
  named:
mcp_servers:
  server: {command: x, sandbox: {write: [cache], net: any}}
  other: {command: x}
`

// A line replaces that of the defaults, whole, and changes it for no one else.
func TestSandboxOfEach(t *testing.T) {
	t.Parallel()
	c := parseOK(t, sandboxed)
	all := plugin.Sandbox{
		Level: plugin.Strict, Read: []string{"workspace", "/etc/toolhost/shared", "/opt/data"},
		Net: []string{"a.example:443", "b.example:443"}, Exec: []string{"git", "/etc/toolhost/bin/x"},
		Memory: 512 << 20, Env: []string{"PATH", "LANG"},
	}
	narrow, plain, server := all, all, all
	narrow.Read, narrow.Write, narrow.Net, narrow.Exec, narrow.Env = []string{"/opt/other"}, []string{"workspace"}, []string{}, []string{"any"}, []string{}
	narrow.CPU, narrow.PIDs, narrow.Files, narrow.Disk = 0.5, 64, 1024, 1<<30
	plain.Level, plain.Read, plain.Net, plain.Memory, plain.Env = plugin.BestEffort, nil, nil, 0, nil
	server.Write, server.Net = []string{"cache"}, []string{"any"}
	for name, x := range map[string]struct{ got, want plugin.Sandbox }{
		"defaults": {c.Defaults.Sandbox, all}, "narrow": {c.Plugin("narrow").Sandbox, narrow}, "plain": {c.Plugin("plain").Sandbox, plain},
		"named": {c.Plugin("named").Sandbox, all}, "another": {c.Plugin("another").Sandbox, all},
		"server": {c.Servers["server"].Sandbox, server}, "other": {c.Servers["other"].Sandbox, all},
		"an empty file": {parseOK(t, "").Defaults.Sandbox, plugin.Sandbox{Level: plugin.BestEffort}},
	} {
		if !reflect.DeepEqual(x.got, x.want) {
			t.Errorf("%s has %+v\nwant %+v", name, x.got, x.want)
		}
	}
}

// What is shown can be read again, and says the same: that nothing is given is not that
// nothing is said.
func TestSandboxShown(t *testing.T) {
	t.Parallel()
	c := parseOK(t, sandboxed)
	tree := c.tree()
	delete(tree, "mcp") // what is shown of it cannot be read
	text := must(json.Marshal(tree))
	again := parseOK(t, string(text))
	if d := Diff(c, again); d.any() || !reflect.DeepEqual(c.Defaults.Sandbox, again.Defaults.Sandbox) {
		t.Errorf("%+v\n%s", d, text)
	}
	for _, want := range []string{`"net":"none"`, `"net":"declared"`, `"exec":"any"`, `"write":"cache"`, `"memory":"512MiB"`, `"disk":"default"`, `"pids":"default"`} {
		assert.Containsf(t, string(text), want, "it has no %s: %s", want, text)
	}
	said, unsaid := parseOK(t, "plugins: {a: {sandbox: {net: none}}}"), parseOK(t, "plugins: {a: {}}")
	if d := Diff(unsaid, said).Plugins["a"]; !reflect.DeepEqual(d, []string{"sandbox"}) {
		t.Errorf("it changes %q", d)
	}
	if pluginrun.SameProcess(said.Plugin("a").Settings, unsaid.Plugin("a").Settings) {
		t.Error("a process that may have everything serves as one that may have nothing")
	}
}

// What people write into the wrong place is not shown if it may be a secret.
func TestSandboxHides(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"env: [TOKEN=" + secret + "]", "env: TOKEN=" + secret, "env: {TOKEN: " + secret + "}", "env: [PATH]\n      - " + secret,
		"net: ['https://user:" + secret + "@a.example']",
	} {
		_, err := Parse("toolhost.yaml", []byte("plugins:\n  a:\n    sandbox:\n      "+line+"\n"))
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// A variable can bring what the text of the file cannot have.
func TestSandboxOfAVariable(t *testing.T) {
	t.Setenv("SANDBOX_TEST_DATA", "/opt/data")
	t.Setenv("SANDBOX_TEST_LINES", "/opt\n/data")
	c := parseOK(t, "defaults: {sandbox: {read: ['${SANDBOX_TEST_DATA}/a'], exec: ['${SANDBOX_TEST_DATA}']}}")
	if got := c.Defaults.Sandbox; !reflect.DeepEqual(got.Read, []string{"/opt/data/a"}) || !reflect.DeepEqual(got.Exec, []string{"/opt/data"}) {
		t.Errorf("%+v", got)
	}
	_, err := Parse("toolhost.yaml", []byte("defaults: {sandbox: {read: ['${SANDBOX_TEST_LINES}']}}"))
	assert.ErrorContains(t, err, "defaults.sandbox.read[0]: the path has a control character")
}

func TestCheckPaths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	check := func(text string) error {
		c := require.Must(Parse(filepath.Join(dir, "toolhost.yaml"), []byte(text)))(t)
		return c.CheckPaths()
	}
	for _, text := range []string{
		"", "defaults: {sandbox: {read: [workspace, ., file], write: cache, exec: [nothing-of-this-name, any-name], net: [a.example:443], env: [A]}}",
		"plugins: {a: {enabled: false, sandbox: {read: [missing]}}}\nmcp_servers: {s: {command: x, enabled: false, sandbox: {read: [missing]}}}",
	} {
		if err := check(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	root := filepath.VolumeName(dir) + string(filepath.Separator)
	type fault struct {
		line int
		key  string
		text string
	}
	cases := map[string]fault{
		"defaults:\n  sandbox:\n    read:\n    - file\n    - missing\nplugins: {a: {}, b: {sandbox: {net: none}}}": {5, "defaults.sandbox.read[1]", "there is no " + filepath.ToSlash(dir) + "/missing (make it, or remove it here)"},
		"plugins:\n  a: {sandbox: {exec: [bin/x]}}":                                                                {2, "plugins.a.sandbox.exec[0]", "there is no "},
		"mcp_servers:\n  s:\n    command: x\n    sandbox: {write: [workspace, file/below]}":                        {4, "mcp_servers.s.sandbox.write[1]", "file/below"},
		"defaults: {enabled: false, sandbox: {read: [missing]}}":                                                   {1, "defaults.sandbox.read[0]", "there is no "},
	}
	if runtime.GOOS == "linux" {
		for link, to := range map[string]string{"top": root, "process": "/proc/self", "around": "around"} {
			require.NoError(t, os.Symlink(to, filepath.Join(dir, link)))
		}
		cases["defaults: {sandbox: {write: [top]}}"] = fault{1, "defaults.sandbox.write[0]", "/top leads to /, which is everything (write any in its place)"}
		cases["defaults: {sandbox: {read: [process/root/etc/..]}}"] = fault{1, "defaults.sandbox.read[0]", "/root leads to /"}
		cases["defaults: {sandbox: {read: [process]}}"] = fault{1, "defaults.sandbox.read[0]", fmt.Sprintf("/process leads to /proc/%d, which shows or changes", os.Getpid())}
		cases["defaults: {sandbox: {read: [around]}}"] = fault{1, "defaults.sandbox.read[0]", "too many links"}
	}
	for text, want := range cases {
		err := check(text)
		var e *Error
		if !errors.As(err, &e) || len(e.Problems) != 1 {
			t.Errorf("%s\n%v, want one problem", text, err)
			continue
		}
		if p := e.Problems[0]; p.Line != want.line || p.Key != want.key || !strings.Contains(p.String(), want.text) {
			t.Errorf("%s\n%+v, want %+v", text, p, want)
		}
	}
}
