package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// A system service has no home: it uses the directories that systemd made for it.
func TestServiceWithoutHome(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	dirs := map[string]string{}
	w.env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + w.tmp}
	base := require.Must(os.MkdirTemp("/tmp", "th-"))(t) // a short path, for the socket
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	for _, name := range []string{"RUNTIME", "STATE", "CACHE", "LOGS", "CONFIGURATION"} {
		dirs[name] = filepath.Join(base, strings.ToLower(name))
		require.NoError(t, os.Mkdir(dirs[name], 0o700))
		w.env = append(w.env, name+"_DIRECTORY="+dirs[name]+":/nonexistent")
	}
	text := "plugin_dirs: [" + w.plugins + "]\nroot: " + w.root + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dirs["CONFIGURATION"], "toolhost.yaml"), []byte(text), 0o600))
	s := &serving{w: w, cmd: w.command("serve"), lines: make(chan string, 10000)}
	s.start()
	s.await(" plugins on " + filepath.Join(dirs["RUNTIME"], "control.sock"))
	w.bare("call", "play.echo", "--log-level", "info").exits(0).says("using the daemon")
	w.bare("plugins", "disable", "player").exits(0)
	s.ends(15, 0)
	for _, file := range []string{dirs["LOGS"] + "/audit.jsonl", dirs["STATE"] + "/plugins.json", dirs["CACHE"] + "/toolhost-manifests"} {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
	// Elsewhere the variables are another service's.
	w.env = append(w.env, "HOME="+t.TempDir())
	w.bare("call", "play.echo").exits(2)
}

// The unit says what the daemon understands.
func TestServiceUnit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const unit = "../../packaging/systemd/toolhost.service"
	f := require.Must(os.Open(unit))(t)
	defer func() { _ = f.Close() }()
	has := map[string]string{}
	for in := bufio.NewScanner(f); in.Scan(); {
		if key, value, ok := strings.Cut(in.Text(), "="); ok && !strings.HasPrefix(key, "#") {
			has[key] = value
		}
	}
	for key, want := range map[string]string{"Type": "notify", "RuntimeDirectory": "toolhost", "KillMode": "mixed", "NoNewPrivileges": "yes", "ProtectSystem": "strict"} {
		equal(t, key, has[key], want)
	}
	for _, key := range []string{"ExecStart", "ExecReload"} {
		words := strings.Fields(has[key])
		if len(words) < 2 || words[0] != "/usr/local/bin/toolhost" {
			t.Fatalf("%s is %q", key, words)
		}
		w.bare(append(words[1:], "--help")...).exits(0) // every flag exists
	}
	if analyze, err := exec.LookPath("systemd-analyze"); err == nil {
		text := require.Must(os.ReadFile(unit))(t)
		here := filepath.Join(t.TempDir(), "toolhost.service")
		require.NoError(t, os.WriteFile(here, bytes.ReplaceAll(text, []byte("/usr/local/bin"), []byte(built.dir)), 0o600))
		out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", here).CombinedOutput()
		if err != nil || bytes.Contains(out, []byte("toolhost.service")) {
			t.Errorf("systemd-analyze: %v\n%s", err, out)
		}
	}
	for _, wrong := range []string{"RestrictNamespaces", "MemoryDenyWriteExecute"} {
		if _, ok := has[wrong]; ok {
			t.Errorf("%s breaks plugins", wrong)
		}
	}
}
