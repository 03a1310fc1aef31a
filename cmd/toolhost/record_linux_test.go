package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/redact"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A workspace that has the user's state, as a home does, has the record too. A plugin that writes the workspace changes
// neither its newest file nor one that was begun since the plugin started. Where it can, as plugins show says, verifying
// finds that.
func TestRecordInTheWorkspace(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"best-effort", "none"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "intruder")
			w.root = w.state
			config := filepath.Join(t.TempDir(), "toolhost.yaml")
			text := "{audit: {max_size: 64KiB}, defaults: {sandbox: {level: " + level + "}}}"
			require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
			w.env = append(w.env, session.CacheVariable+"="+t.TempDir(), session.ConfigVariable+"="+config)
			record := filepath.Join(w.state, "toolhost", "audit.jsonl")
			w.serve()
			w.run("call", "intrude.read", "--arg", "path="+record).exits(exit.Done) // the plugin runs
			long := json.RawMessage(strconv.Quote(strings.Repeat("x", redact.MaxInput-100)))
			writeAudit(t, record, slices.Repeat([]func(*audit.Record){func(r *audit.Record) { r.Time, r.Input = time.Now(), long }}, 20)...)
			w.run("call", "intrude.read", "--arg", "path="+record) // which begins another file
			rotated := require.Must(filepath.Glob(record + ".0*"))(t)
			equal(t, "the number of full files", len(rotated), 1)
			w.run("audit", "verify").exits(exit.Done).prints("in 2 files")
			var shown shownPlugin
			w.run("plugins", "show", "intruder", "--json").exits(exit.Done).json(&shown)
			changes := shown.Sandbox == nil || !slices.ContainsFunc(shown.Sandbox.Lines, func(l plugin.SandboxLine) bool {
				return l.Name == "protected" && len(l.By) > 0
			})

			for _, path := range []string{record, rotated[0]} {
				before := require.Must(os.ReadFile(path))(t)
				status := w.run("call", "intrude.replace", "--arg", "path="+path, "--arg", "was=intrude.read", "--arg", "is=intrude.none").status
				after := require.Must(os.ReadFile(path))(t)
				equal(t, "whether "+path+" has changed", !strings.HasPrefix(string(after), string(before)), changes)
				equal(t, "whether the plugin says so", status == exit.Done, changes)
			}
			if !changes {
				w.run("audit", "verify").exits(exit.Done)
				return
			}
			w.run("audit", "verify").exits(exit.Failed).prints(filepath.Base(rotated[0]))
		})
	}
}
