package setup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func settings(t *testing.T, c *config.Config, r Run) Settings {
	t.Helper()
	r.Lookup = lookup
	s := require.Must(PluginSettings(c, r))(t)
	return s
}

func TestPluginSettings(t *testing.T) {
	t.Parallel()
	c := parsed(t, []byte(`
defaults:
  environment: {A: one, B: {from_env: REFERRED}}
  carrier: unary
  idle_time: 1h
plugins:
  db:
    arguments: [-v]
    environment: {B: two}
    config: {depth: 3}
    idle_time: never
    restart: {free: unlimited}
    previews: false
  gone:
    enabled: false
    environment: {X: {from_env: NOT_THERE}}
`))
	of := settings(t, c, Run{})
	db, other := of("db"), of("other")
	if !slices.Equal(db.Env, []string{"A=one", "B=two"}) || !slices.Equal(other.Env, []string{"A=one", "B=referred"}) {
		t.Errorf("the environments are %q and %q", db.Env, other.Env)
	}
	if !slices.Equal(db.Args, []string{"-v"}) || string(db.Config) != `{"depth":3}` || db.Previews || db.Carrier != plugin.Unary || db.IdleTimeout != 0 || db.Restart.Free != -1 {
		t.Errorf("db has %+v", db)
	}
	if len(other.Args)+len(other.Config) > 0 || !other.Previews || !other.Enabled || other.IdleTimeout != time.Hour || other.Restart.Free != 3 {
		t.Errorf("another has %+v", other)
	}
	if gone := of("gone"); gone.Enabled {
		t.Errorf("gone has %+v", gone)
	}
	once := settings(t, c, Run{Once: true})("other")
	assert.Equalf(t, once.IdleTimeout, 0, "for one command, with a flag, another has %+v", once)
}

// All references that lead to nothing are told, once each, where the file has them.
func TestReferencesThatLeadNowhere(t *testing.T) {
	t.Parallel()
	c := parsed(t, []byte(`
defaults:
  environment:
    A: {from_env: NOT_THERE}
plugins:
  db:
    environment:
      B: {from_file: nowhere}
      C: hunter2
  web: {}
`))
	_, err := PluginSettings(c, Run{Lookup: lookup})
	var bad *config.Error
	if !errors.As(err, &bad) || len(bad.Problems) != 2 {
		t.Fatalf("the error is %v", err)
	}
	for i, want := range []struct {
		line      int
		key, text string
	}{{4, "defaults.environment.A", "NOT_THERE is not set"}, {8, "plugins.db.environment.B", "nowhere"}} {
		if p := bad.Problems[i]; p.Line != want.line || p.Key != want.key || !strings.Contains(p.Message, want.text) {
			t.Errorf("problem %d is %+v, want %+v", i, p, want)
		}
	}
	assert.NotContainsf(t, err.Error(), "hunter2", "the error has a secret in it: %v", err)
}

func TestCaller(t *testing.T) {
	t.Parallel()
	c := parsed(t, []byte(`
callers:
  yes: {approval: "yes"}
  no: {approval: "no"}
  asked: {approval: ask}
`))
	person := policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
		return policy.Decision{Verdict: policy.Allow, By: "a person"}, nil
	})
	for name, want := range map[string]policy.Decision{
		"yes": {Verdict: policy.Allow, By: policy.Operator}, "asked": {Verdict: policy.Allow, By: "a person"}, "other": {Verdict: policy.Allow, By: "a person"},
		"no": {Verdict: policy.Deny, By: policy.Operator, Reason: "the operator lets the caller no have no yes"},
	} {
		caller := CallerOf(c, name)
		got, err := caller.Approver(Askers{Client: person}).Approve(t.Context(), policy.Request{})
		if err != nil || got.Verdict != want.Verdict || got.By != want.By || got.Reason != want.Reason {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if alone := caller.Approver(Askers{}) == nil; alone != (want.By == "a person") {
			t.Errorf("%s: without a person, there is no approver: %v", name, alone)
		}
		if caller.Holds("fs:read") || !caller.Sees(tool.Definition{Name: "any"}) {
			t.Errorf("%s holds what it was not given, or sees not all", name)
		}
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	load := func(text, content string) Loaded {
		require.NoError(t, os.WriteFile(secret, []byte(content), 0o600))
		c := require.Must(config.Parse(filepath.Join(dir, "toolhost.yaml"), []byte(text)))(t)
		return Loaded{Config: c, Plugins: settings(t, c, Run{})}
	}
	const db = "plugins: {db: {environment: {KEY: {from_file: secret}}}}\n"
	for name, c := range map[string]struct {
		before, after string
		content       string // after
		changes       []string
		process       bool
	}{
		"nothing":             {before: db, after: "# a comment\n" + db, content: "one"},
		"a secret":            {before: db, after: db, content: "two", changes: []string{"plugin db: a value that environment refers to"}, process: true},
		"a secret of all":     {before: "defaults: {environment: {KEY: {from_file: secret}}}", after: "defaults: {environment: {KEY: {from_file: secret}}}", content: "two", changes: []string{"defaults: a value that environment refers to"}, process: true},
		"a variable":          {before: db, after: "plugins: {db: {environment: {KEY: hunter2}}}", content: "one", changes: []string{"plugin db: environment"}, process: true},
		"idle time":           {before: db, after: "plugins: {db: {idle_time: 1h, environment: {KEY: {from_file: secret}}}}", content: "one", changes: []string{"plugin db: idle_time"}},
		"a plugin, a default": {before: "", after: "{defaults: {previews: false}, plugins: {db: {arguments: [hunter2]}}}", content: "one", changes: []string{"defaults: previews", "plugin db: arguments, previews"}, process: true},
		"a sandbox":           {before: "", after: "plugins: {db: {sandbox: {net: none}}}", content: "one", changes: []string{"plugin db: sandbox"}, process: true},
		"a sandbox of all":    {before: "defaults: {sandbox: {pids: 64}}", after: "defaults: {sandbox: {pids: 65}}", content: "one", changes: []string{"defaults: sandbox"}, process: true},
		"disabled":            {before: "", after: "plugins: {db: {enabled: false}}", content: "one", changes: []string{"plugin db: enabled"}, process: true},
		"others":              {before: "", after: "{tools: {a.b: {disable: true}}, callers: {cli: {approval: \"no\"}}, log_level: info}", content: "one", changes: []string{"log_level", "tool a.b", "caller cli"}},
	} {
		before := load(c.before, "one")
		after := load(c.after, c.content)
		assert.EqualSlicesf(t, Changes(before, after), c.changes, "%s: the changes", name)
		if got := !pluginrun.SameProcess(before.Plugins("db"), after.Plugins("db")); got != c.process {
			t.Errorf("%s: db needs a new process: %v", name, got)
		}
	}
}

func TestFixed(t *testing.T) {
	t.Parallel()
	before := parsed(t, nil)
	for text, want := range map[string][]string{
		"log_level: info\ntools: {a: {disable: true}}\ndefaults: {idle_time: 1h, call_timeout: 2m, limits: {running: 3}}": nil,
		"audit: {path: off}": {"audit"},
		"mcp: {origins: [\"https://a.example\"], hosts: [a.example], oidc: {issuer: \"https://b.example\", audience: a}}": nil,
		"mcp: {listen: \"127.0.0.1:1\", tls: {cert: a, key: b}, limits: {body: 1MiB}}":                                    {"mcp.limits", "mcp.listen", "mcp.tls"},
		"{root: a, plugin_dirs: [b], socket: c, cache_dir: d}":                                                            {"cache_dir", "plugin_dirs", "root", "socket"},
	} {
		assert.EqualSlicesf(t, Fixed(before, parsed(t, []byte(text))), want, "%s: fixed", text)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "toolhost.yaml")
	require.NoError(t, os.WriteFile(path, []byte("callers:\n  cli:\n    uid: 7\n"), 0o600))
	c, err := Load(path)
	var bad *config.Error
	if c == nil || !errors.As(err, &bad) || len(bad.Problems) != 1 {
		t.Fatalf("%v, %v", c, err)
	}
	if got := bad.Problems[0].String(); !strings.HasPrefix(got, path+":3:10: callers.cli.uid: ") {
		t.Errorf("the problem is %s", got)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}
