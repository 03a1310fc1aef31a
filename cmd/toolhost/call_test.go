package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestCallReadsAFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	w.write("README.md", "# Title\nno newline at the end")
	args := []string{"call", "fs.read", `{"path":"README.md"}`}
	o := w.run(append(args, "--grant", "fs:read")...).exits(0)
	equal(t, "standard output", o.stdout, "# Title\nno newline at the end")
	equal(t, "standard error", o.stderr, "")

	var out host.Outcome
	w.run(append(args, "--grant", "fs:read", "--json")...).exits(0).json(&out)
	equal(t, "success", out.Success, true)
	equal(t, "the content", out.Content, "# Title\nno newline at the end")
	equal(t, "the plugin", out.Metadata.Plugin, "fs")

	o = w.run(args...).exits(5).says("toolhost: Permission denied for tool: fs.read", "fs:read", "--grant fs:read")
	equal(t, "standard output", o.stdout, "")
	out = host.Outcome{}
	w.run(append(args, "--json")...).exits(5).json(&out)
	equal(t, "success", out.Success, false)
	equal(t, "the code", out.Error.Code, tool.CodePermissionDenied)
	equal(t, "the number of attempts", out.Metadata.Attempts, 0)
}

func TestCallBadArguments(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	for _, c := range []struct{ args, says string }{
		{`{"path":`, "Invalid tool call: "},
		{`path=README.md`, "the arguments are not JSON: path=README.md\n  write --arg path=README.md"},
		{`[]`, "Invalid tool call: "},
		{`{}`, "Invalid tool call: missing required argument: path"},
		{`{"path":"a","colour":"red"}`, "Invalid tool call: unexpected argument: colour"},
		{`{"path":7}`, "Invalid tool call: invalid value for path: expected string, got integer"},
		{`{"path":"/etc/passwd"}`, "Invalid tool call: invalid value for path"},
	} {
		var out host.Outcome
		w.run("call", "fs.read", c.args, "--grant", "fs:read", "--json").exits(4).says("toolhost: "+c.says, "\n  ").json(&out)
		equal(t, "the code", out.Error.Code, tool.CodeInvalidArguments)
		equal(t, "the number of attempts", out.Metadata.Attempts, 0)
	}
}

func TestCallUnknownTool(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	var out host.Outcome
	w.run("call", "fs.raed", "--json").exits(3).says("toolhost: Unknown tool: fs.raed", "did you mean fs.read").
		prints(`"hint": "did you mean fs.read?"`).json(&out)
	equal(t, "the code", out.Error.Code, tool.CodeNotFound)
	equal(t, "the message", out.Error.Message, "Unknown tool: fs.raed")
}

// A tool that is missing because its plugin does not start is not unknown.
func TestCallToolOfARefusedPlugin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.install("quitter", "fs")
	var out host.Outcome
	w.run("call", "fs.read", "--json").exits(6).says("toolhost: tool fs.read is not available: plugin fs did not start", "no license").json(&out)
	equal(t, "the code", out.Error.Code, tool.CodeUnavailable)
	w.run("tools", "show", "fs.read").exits(6)
	w.run("call", "play.echo").exits(0)
}

func TestCallOutOfTheWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(w.root, "link")))
	for _, path := range []string{"../x", "a/../../x", "link"} {
		o := w.run("call", "fs.read", "--arg", "path="+path, "--grant", "fs:read").exits(5).says("path escapes the workspace")
		equal(t, "standard output", o.stdout, "")
	}
}

func TestCallLargeAndBinaryFiles(t *testing.T) {
	t.Parallel()
	const size = 5 << 20 // above the 4 MiB that gRPC takes if nothing is said
	w := newWorld(t, "fs")
	binary := bytes.Repeat([]byte{0, 1, 0xff, 0xfe}, size/4)
	w.write("binary", string(binary))
	o := w.run("call", "fs.read", "--arg", "path=binary", "--arg", "limit=6000000", "--grant", "fs:read").exits(0)
	equal(t, "whether the bytes are the same", bytes.Equal([]byte(o.stdout), binary), true)
	w.run("call", "fs.read", "--arg", "path=binary", "--grant", "fs:read", "--json").exits(0).prints("[resource file:///binary")

	// At the other end: arguments as large.
	text := strings.Repeat("0123456\n", size/8)
	w.runWith(`{"path":"text","content":"`+strings.ReplaceAll(text, "\n", `\n`)+`"}`,
		"call", "fs.write", "-", "--grant", "fs:write", "--yes").exits(0)
	o = w.run("call", "fs.read", "--arg", "path=text", "--arg", "limit=6000000", "--grant", "fs:read").exits(0)
	equal(t, "whether the text is the same", o.stdout == text, true)

	w.runWith(`{"path":"text","content":"`+strings.Repeat("x", maxArguments)+`"}`,
		"call", "fs.write", "-", "--grant", "fs:write", "--yes").exits(5).says("longer than 16 MiB")
}

func TestCallDangerous(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.runWith("y\n", "call", "play.danger").exits(5).says("needs approval", "there is no terminal", "--yes") // standard input is not the terminal
	w.run("call", "play.danger", `{"text":"a"}`, "--yes").exits(0).prints(`{"text":"a"}`)
	var out host.Outcome
	w.run("call", "play.danger", "--yes", "--json").exits(0).json(&out)
	equal(t, "approved", out.Metadata.Approved, true)
}

func TestCallArguments(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.write("args.json", `{"text":"from a file","n":1}`)
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, `{}`},
		{[]string{"@args.json"}, `{"text":"from a file","n":1}`},
		{[]string{"-"}, `{"text":"from standard input"}`},
		{[]string{"@args.json", "--arg", "n=2", "--arg", "on=true"}, `{"text":"from a file","n":2,"on":true}`},
		{[]string{"--arg", "text=2"}, `{"text":"2"}`},
		{[]string{`{"n":3.0}`}, `{"n":3}`},
		{[]string{`{"n":1e2}`}, `{"n":100}`},
	} {
		o := w.runWith(`{"text":"from standard input"}`, append([]string{"call", "play.echo"}, c.args...)...).exits(0)
		equal(t, "the answer", o.stdout, c.want)
	}
	w.run("call", "play.echo", "--arg", "n=two").exits(4).says("expected integer, got string")
	w.run("call", "play.echo", "--arg", "m=2").exits(4).says("unexpected argument: m")
}

func TestCallFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	o := w.run("call", "play.fail").exits(1).says("toolhost: tool play.fail execution failed: no luck\n")
	equal(t, "standard output", o.stdout, "")
	var out host.Outcome
	w.run("call", "play.fail", "--json").exits(1).json(&out)
	equal(t, "the code", out.Error.Code, tool.CodeToolFailed)

	w.run("call", "play.nonsense").exits(6)
	w.run("call", "play.exit", `{"status":3}`).exits(6).says(
		"toolhost: plugin player crashed while it ran play.exit: exit status 3", "its last words:\n    goodbye, \\x1b[31mworld\n")
	out = host.Outcome{}
	w.run("call", "play.panic", "--json").exits(6).says("panic: out of the blue").json(&out)
	equal(t, "the code", out.Error.Code, tool.CodeCrashed)
}

func TestCallResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	o := w.run("call", "play.blob").exits(0)
	equal(t, "the number of bytes", len(o.stdout), 256)
	w.run("call", "play.blob", "--json").exits(0).prints("256 bytes]")
	// Programs get what the tool said; a terminal would not.
	o = w.run("call", "play.control").exits(0)
	equal(t, "the text", o.stdout, "a\x1b[2Jb\u202ec")
	// As JSON it is the same, and changes no terminal.
	var out host.Outcome
	w.run("call", "play.control", "--json").exits(0).prints(`"a\u001b[2Jb\u202ec"`).json(&out)
	equal(t, "the text", out.Content, o.stdout)
	w.run("call", "play.echo", "--arg", "text=\u009b2J\x7f", "--json").exits(0).prints(`\u009b2J\u007f`)
	w.run("audit", "--json").exits(0).prints(`"input":{"text":"\u009b2J\u007f"}`)
}

func TestPluginsDoNotReadStandardInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	in := require.Must(os.Open(filepath.Join(built.dir, "player")))(t)
	defer func() { _ = in.Close() }()
	cmd := w.command("call", "play.stdin", "--plugin-dir", w.plugins)
	cmd.Stdin = in
	w.finish(cmd).exits(0).prints("0 bytes")
	at, err := in.Seek(0, 1)
	if err != nil || at != 0 {
		t.Errorf("%d bytes of standard input were read, %v", at, err)
	}
}
