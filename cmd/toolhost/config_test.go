package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/internal/trust"
)

// configure writes the configuration file that commands of this world find by default,
// as an operator does who trusts it.
func (w *world) configure(lines ...string) {
	w.t.Helper()
	content := strings.Join(lines, "\n") + "\n"
	w.trust(content)
	w.replace(session.DefaultConfig, content)
}

// trust has the default file count if it has this content.
func (w *world) trust(content string) {
	w.t.Helper()
	if err := trust.In(filepath.Join(w.state, "toolhost")).Trust(w.config(), fmt.Sprintf("%x", sha256.Sum256([]byte(content)))); err != nil {
		w.t.Fatal(err)
	}
}

// replace puts a file into the workspace as editors do: another one in its place.
func (w *world) replace(name, content string) {
	w.t.Helper()
	w.write("."+name+".new", content)
	require.NoError(w.t, os.Rename(filepath.Join(w.root, "."+name+".new"), filepath.Join(w.root, name)))
}

// config is the path of the default file.
func (w *world) config() string { return filepath.Join(w.root, session.DefaultConfig) }

// What a flag says goes before the file, and the file before the environment.
func TestConfigPluginDirs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.configure("plugin_dirs: [" + w.plugins + "]")
	w.env = append(w.env, session.PluginDirVariable+"="+t.TempDir())
	w.bare("tools").exits(0).prints("play.echo")
	if o := w.bare("tools", "--plugin-dir", t.TempDir()).exits(0); strings.Contains(o.stdout, "play.echo") {
		t.Error("the file goes before the flag")
	}
	w.configure("plugin_dirs: [nowhere]")
	w.bare("tools").exits(2).says("there is no plugin directory "+filepath.Join(w.root, "nowhere")+" (from plugin_dirs in "+w.config()+")", "make it")
	w.bare("__complete", "--plugin-dir", w.plugins, "call", "play.e").exits(0).prints("play.echo\t")
}

func TestConfigRoot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	w.write("a.txt", "inside")
	other := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(other, "a.txt"), []byte("outside"), 0o600))
	w.configure("root: " + other)
	read := []string{"call", "fs.read", `{"path":"a.txt"}`, "--grant", "fs:read"}
	w.run(read...).exits(0).prints("outside")
	w.run(append(read, "--root", w.root)...).exits(0).prints("inside")
}

func TestConfigLogLevel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.env = append(w.env, session.CacheVariable+"="+session.Off)
	w.configure("log_level: debug")
	w.run("tools").exits(0).says("plugin started")
	equal(t, "standard error", w.run("tools", "--log-level", "warn").exits(0).stderr, "")
}

func TestConfigCacheAndAudit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	variable, flag := filepath.Join(w.state, "variable.jsonl"), filepath.Join(w.state, "flag.jsonl")
	w.env = append(w.env, session.AuditVariable+"="+variable)
	dir := t.TempDir()
	w.configure("cache_dir: "+dir+"/remembered", "audit: {path: "+dir+"/calls.jsonl}")
	w.run("call", "play.echo").exits(0)
	w.run("call", "play.echo", "--audit", flag).exits(0)
	for _, path := range []string{filepath.Join(dir, "remembered"), filepath.Join(dir, "calls.jsonl"), flag} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	w.run("audit").exits(0).prints("play.echo")
	w.configure("audit: {path: off}")
	w.run("call", "play.echo").exits(0)
	if _, err := os.Stat(variable); !os.IsNotExist(err) {
		t.Errorf("the variable goes before the file: %v", err)
	}
}

func TestConfigFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.run("tools").exits(0) // there is none, and need not be
	missing := filepath.Join(w.root, "other.yaml")
	w.run("tools", "--config", "other.yaml").exits(2).says("there is no configuration file "+missing+" (from --config)", "toolhost config init")
	w.env = append(w.env, session.ConfigVariable+"="+missing)
	w.run("tools").exits(2).says("there is no configuration file " + missing + " (from " + session.ConfigVariable + ")")
	w.write("other.yaml", "tools:\n  play.echo: {rename: play.back}\n")
	w.run("tools").exits(0).prints("play.back")
	w.configure("# empty")
	w.run("tools", "--config", w.config()).exits(0).prints("play.echo")
	require.NoError(t, os.Chmod(missing, 0o666)) //nolint:gosec // what is to be refused
	w.run("tools").exits(2).says("others may write to it", "chmod go-w")
}

// A file with a problem has no effect: what needs it does nothing.
func TestConfigThatIsBad(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.configure("plugins:", "  player:", "    enabeld: true", "    idle_time: soon")
	says := []string{
		w.config() + ":3:5: plugins.player.enabeld: unknown key", "did you mean `enabled`?", "  3 | ", w.config() + ":4:16: ", "`soon` is not a time",
	}
	w.run("tools").exits(2).says(says...)
	for _, args := range [][]string{{"plugins"}, {"call", "play.echo"}, {"tools", "--for", "mcp"}, {"serve"}, {"audit"}} {
		w.bare(append(args, "--config", w.config(), "--plugin-dir", w.plugins)...).exits(2).says(says...)
	}
	w.run("version").exits(0)
	w.run("doctor").exits(1).prints("failed   configuration:", "unknown key `enabeld`")
	w.run("config", "explain", "--json").exits(0)
	w.bare("__complete", "call", "play.").exits(0)
}

// A sandbox with a path that is not there starts nothing, and says which line it is.
func TestConfigOfSandboxes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	const file = "plugins:\n  player:\n    sandbox:\n      read: [workspace, nowhere]\n"
	w.configure(strings.TrimSuffix(file, "\n"))
	says := w.config() + ":4:25: plugins.player.sandbox.read[1]: there is no " + filepath.ToSlash(w.root) + "/nowhere (make it, or remove it here)"
	for _, args := range [][]string{{"tools"}, {"plugins"}, {"call", "play.echo"}, {"serve"}} {
		if o := w.run(append(args, "--log-level", "debug")...).exits(2).says(says, "  4 | "); strings.Contains(o.stderr, "plugin started") {
			t.Errorf("toolhost %q starts the plugin:\n%s", args, o.stderr)
		}
	}
	w.bare("config", "check").exits(1).prints(says)
	w.run("doctor").exits(1).prints("failed   configuration:", "plugins.player.sandbox.read[1]")
	require.NoError(t, os.Mkdir(filepath.Join(w.root, "nowhere"), 0o700))
	w.bare("config", "check").exits(0)
	w.run("call", "play.echo").exits(0)
	w.found(strings.Replace(file, "nowhere", "elsewhere", 1)) // not trusted: what it names is not even looked at
	w.run("tools").exits(0).says(untrusted)
	w.bare("trust").exits(5).says("lets plugin player read the workspace", "lets plugin player read "+filepath.Join(w.root, "elsewhere"))
}

func TestConfigOfToolsAndPlugins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player", "fs")
	w.configure(
		"plugins:", "  fs: {enabled: false}",
		"tools:",
		"  play.echo: {rename: echo, safety: dangerous}",
		"  play.danger: {approval: allow}",
		"  play.fail: {disable: true}",
		"  play.control: {permission: net, rate: 1/h}",
	)
	w.run("call", "echo").exits(5).says("approval")
	w.run("call", "echo", "--yes").exits(0)
	w.run("call", "play.danger").exits(0)
	for _, command := range [][]string{{"call"}, {"tools", "show"}} {
		w.run(append(command, "play.fail")...).exits(3).says("Unknown tool: play.fail: the operator has disabled it in ", "toolhost.yaml")
		w.run(append(command, "play.echo")...).exits(3).says("Unknown tool: play.echo: it is called echo here", "toolhost tools show echo")
		w.run(append(command, "fs.read")...).exits(3).says("Unknown tool: fs.read: the plugin fs is disabled", "toolhost plugins enable fs")
	}
	w.run("call", "play.control").exits(5).says("Permission denied")
	w.run("call", "fs.read", `{"path":"a"}`).exits(3)
	var list pluginList
	w.run("plugins", "--json").exits(0).json(&list)
	equal(t, "the state of fs", string(list.Plugins[0].State), "disabled")
}

// What the file gives the caller cli holds without a daemon too; --grant and --yes are
// the operator's own word.
func TestConfigOfTheCaller(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player", "fs")
	w.write("a.txt", "text of the file")
	w.configure(
		"callers:", "  cli:",
		"    grants: [fs:read]", "    approval: \"no\"", "    result_limit: 4",
		"    tools: {deny: [play.b*], max_safety: dangerous}",
	)
	o := w.run("call", "fs.read", `{"path":"a.txt"}`).exits(0).prints("text")
	assert.NotContainsf(t, o.stdout, "file", "the result is not cut")
	w.run("call", "fs.stat", `{"path":"a.txt"}`).exits(0)
	w.run("call", "play.danger").exits(5).says("the operator lets the caller cli have no yes")
	w.run("call", "play.danger", "--yes").exits(0)
	w.run("call", "play.blob").exits(3).says("it is not among the tools of this caller")
	w.run("tools", "show", "play.blob").exits(3)
	if o := w.run("tools").exits(0); strings.Contains(o.stdout, "play.blob") {
		t.Errorf("it is listed:\n%s", o.stdout)
	}
	w.run("call", "fs.write", `{"path":"b.txt","content":"x"}`, "--grant", "fs:write", "--yes").exits(0)
	w.configure("callers:", "  cli: {approval: \"yes\"}")
	w.run("call", "play.danger").exits(0)
}

// Values of environments reach only the plugin.
func TestConfigSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player", "quitter")
	w.env = append(w.env, "REFERRED=hunter3")
	require.NoError(t, os.WriteFile(filepath.Join(w.root, "secret"), []byte("hunter4\n"), 0o600))
	w.configure(
		"defaults:", "  environment:",
		"    PLAIN: hunter2", "    VARIABLE: {from_env: REFERRED}", "    FILE: {from_file: secret}",
		"plugins:", "  player: {}",
	)
	for _, secret := range []string{"PLAIN=hunter2", "VARIABLE=hunter3", "FILE=hunter4"} {
		var out struct{ Found int }
		w.run("call", "play.peek", "--arg", "text="+secret).exits(0).json(&out)
		if out.Found == 0 {
			t.Errorf("the plugin has no %s", secret)
		}
	}
	shown := func(o outcome) {
		t.Helper()
		assert.NotContainsf(t, o.stdout+o.stderr, "hunter", "toolhost %q tells a secret", o.args)
	}
	for _, args := range [][]string{
		{"config"}, {"config", "check"}, {"config", "check", "--start", "--json"}, {"plugins", "show", "player", "--json"}, {"plugins", "--json"},
		{"plugins", "show", "quitter", "--json"}, {"tools", "--log-level", "trace"}, {"call", "play.echo", "--log-level", "trace"}, {"call", "play.exit", "{}", "--log-level", "trace"},
	} {
		shown(w.run(args...))
	}
	var c struct {
		Defaults struct {
			Environment map[string]any `json:"environment"`
		} `json:"defaults"`
	}
	w.run("config").exits(0).json(&c)
	equal(t, "a plain value", c.Defaults.Environment["PLAIN"], any("(hidden)"))
	w.configure("defaults:", "  environment:", "    PLAIN: [hunter2]", "    VARIABLE: {from_evn: hunter3}", "    FILE: {from_file: \"hunter4")
	shown(w.run("config", "check").exits(1))
	shown(w.run("tools").exits(2))
	w.configure("defaults:", "  environment:", "    PLAIN: hunter2", "    VARIABLE: {from_env: NOT_THERE}", "    FILE: {from_file: nowhere}")
	shown(w.run("config", "check").exits(1).prints("NOT_THERE is not set", filepath.Join(w.root, "nowhere")))
	shown(w.run("tools").exits(2).says(w.config() + ":4:"))
}

func TestConfigInit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	path := filepath.Join(w.root, "new.yaml")
	w.bare("config", "init", "new.yaml").exits(0).prints("wrote "+path, "toolhost config check "+path)
	content, err := os.ReadFile(path)
	if err != nil || string(content) != string(config.Initial()) {
		t.Errorf("the file has %q, %v", content, err)
	}
	w.bare("config", "check", "new.yaml").exits(0).prints(path + ": no problems")
	w.run("tools", "--config", path).exits(0).prints("play.echo")

	w.write("new.yaml", "log_level: info\n")
	w.bare("config", "init", "new.yaml").exits(2).says("is there already, and was left as it is", "--force")
	w.bare("config", "init").exits(0).prints("wrote " + w.config())
	w.bare("config", "init", "--config", "new.yaml", "--json").exits(2)
	if content, _ := os.ReadFile(path); string(content) != "log_level: info\n" {
		t.Errorf("it was replaced: %s", content)
	}
	var out map[string]string
	w.bare("config", "init", "new.yaml", "--force", "--json").exits(0).json(&out)
	equal(t, "the file", out["file"], path)
	if content, _ := os.ReadFile(path); string(content) != string(config.Initial()) {
		t.Errorf("it was not replaced: %s", content)
	}
	w.bare("config", "init", filepath.Join("no", "where.yaml")).exits(1).says("was not written")
	left, err := os.ReadDir(w.root)
	if err != nil || len(left) != 2 {
		t.Errorf("there are %v, %v", left, err)
	}
}

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.bare("config", "check").exits(2).says("there is no configuration file "+w.config(), "toolhost config init")
	w.configure("plugin_dirs: [nowhere]", "root: nowhere", "callers: {cli: {uid: 7}}", "defaults:", "  environment: {A: {from_env: NOT_THERE}}")
	o := w.bare("config", "check", w.config()).exits(1).says("there are 4 problems in " + w.config())
	o.prints(w.config()+":1:14: plugin_dirs: there is no directory", w.config()+":2:7: root: ", w.config()+":3:22: callers.cli.uid: cli is the user", w.config()+":5:17: defaults.environment.A", "  3 | callers: {cli: {uid: 7}}\n")
	var report configReport
	w.bare("config", "check", w.config(), "--json").exits(1).json(&report)
	if len(report.Problems) != 4 || report.Problems[2].Line != 3 || report.Problems[2].Key != "callers.cli.uid" || report.Problems[2].Snippet == "" || report.File != w.config() {
		t.Errorf("the report is %+v", report)
	}
	w.configure("nonsense: 1", "root: [a]")
	w.bare("config", "check", w.config()).exits(1).prints(":1:1: nonsense: unknown key", ":2:7: root: ")
	w.bare("config", "check", "a", "b").exits(2)
	require.NoError(t, os.Chmod(w.config(), 0o666)) //nolint:gosec // what is to be refused
	w.bare("config", "check", w.config()).exits(1).prints("others may write to it")
}

// With --start, what the file says of plugins and tools has to fit them.
func TestConfigCheckStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.configure("plugin_dirs: ["+w.plugins+"]", "plugins:", "  player: {}", "  plaier: {}", "tools:", "  play.ehco: {safety: safe}")
	w.bare("config", "check").exits(0)
	w.bare("config", "check", "--start").exits(0).prints("no problems").
		says("warning: "+w.config()+":4:3: plugins.plaier: there is no plugin plaier (did you mean player?)", `:6:3: tools."play.ehco": there is no tool play.ehco`)
	w.configure("plugin_dirs: ["+w.plugins+"]", "plugins:", "  player:", "    config: {depth: 3}")
	w.bare("config", "check").exits(0)
	var report configReport
	w.bare("config", "check", "--start", "--json").exits(1).json(&report)
	if len(report.Problems) != 1 || report.Problems[0].Line != 4 || !strings.Contains(report.Problems[0].Message, "the plugin takes no configuration") {
		t.Errorf("the report is %+v", report)
	}
}

func TestConfigSchema(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.bare("config", "explain", "--json").exits(0)
	equal(t, "it is JSON", json.Valid([]byte(o.stdout)), true)
	equal(t, "the schema", o.stdout, string(config.Schema()))
	w.bare("config", "explain").exits(0).prints("audit ", "plugins ", "mcp_servers ")
	w.bare("config", "explain", "plugins.NAME.sandbox.level").exits(0).prints("plugins.NAME.sandbox.level\n", "Default: ")
	w.bare("config", "explain", "defaults").exits(0).prints("carrier ")
	w.bare("config", "explain", "mcp.oidc", "--json").exits(0).prints(`"description"`)
	w.bare("config", "explain", "audit.pth").exits(2).says("the file has no key audit.pth", "did you mean path?")
	w.bare("config", "explain", "audit.path.x").exits(2).says("the file has no key")
	w.bare("config", "chekc").exits(2).says("did you mean check")
}

// What a plugin can be configured with is shown, and what does not fit is named.
func TestPluginConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	w.run("plugins", "show", "fs").exits(0).prints("configuration:", `"allow_git": {`)
	var shown shownPlugin
	w.run("plugins", "show", "fs", "--json").exits(0).json(&shown)
	assert.Containsf(t, string(shown.ConfigSchema), `"allow_git"`, "the schema is %s", shown.ConfigSchema)
	w.configure("plugin_dirs: ["+w.plugins+"]", "plugins:", "  fs:", "    config: {allow_git: much}")
	w.bare("config", "check", "--start").exits(1).prints("allow_git")
}

// A pattern of a server that chooses none of its tools is found when they are listed.
func TestPatternsOfNoTool(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	settings, _ := w.lateServers("late")
	w.configure(strings.Replace(settings, ", cwd:", `, include: [t, "x*"], exclude: [tt], cwd:`, 1))
	found := []string{`mcp_servers.late.include: no tool of the server matches x*`, `mcp_servers.late.exclude: no tool of the server matches tt`, "did you mean t?"}
	w.bare("config", "check", "--start").exits(0).says(found...)
	require.NoError(t, os.RemoveAll(filepath.Join(w.state, "cache"))) // a server whose tools are remembered is not asked
	w.serve("--config", w.config())
	w.run("status").exits(1).prints(found...)
	w.run("doctor", "--config", w.config()).exits(1).prints(found...)
}
