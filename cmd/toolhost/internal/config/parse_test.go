package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

var full = `
plugin_dirs: [plugins, /opt/plugins]
root: work
cache_dir: ./cache
socket: run/s
log_level: off
audit: {path: a.jsonl, required: cautious, max_size: 1MiB, max_files: 3, max_age: 720h}
approvals: {timeout: 1m30s}
defaults:
  enabled: false
  environment: {A: one, B: two}
  carrier: socket
  limits: {running: 8}
plugins:
  db:
    enabled: true
    arguments: ["-v", '']
    environment:
      B: 3
      C: {from_env: HOME}
      D: {from_file: secret}
      E: yes
      F: true
    config: {z: [1, 2.5, null, "x"], a: {b: true}}
    namespace: on
    previews: false
    idle_time: never
    start_timeout: 20s
    call_timeout: 1m30s
    max_timeout: never
    limits: {waiting: 0, max_result: unlimited, max_retries: 2}
    restart: {free: 5, backoff: 1s, max_backoff: 1s, quarantine: 6, cooldown: 1m, max_cooldown: 1h, lasting: 1m}
  other:
tools:
  fs.read: {rename: read_file, safety: safe, idempotent: true, approval: allow, rate: 10/m, timeout: 5s, retries: 3, permission: none}
  fs.write: {disable: true, rate: unlimited}
sessions: {idle_time: never, max: 4}
callers:
  mcp:
    uid: 1001
    rate: 100/1m
    max_calls: 8
    grants: [fs:read, exec]
    tools: {allow: ["fs.*", "*_x*"], deny: [fs.delete], max_safety: moderate}
    approval: no
    result_limit: 100
nats:
  url: tls://user:pw@a.example:4222,tls://b.example
  credentials: host.creds
  tls: {ca: ca.crt, cert: /c, key: k}
  key: fleet.key
  name: build-1
  labels: {region: eu, gpu: 1, spot: true}
  share: [gpu.*]
  mount: ["*"]
  prefix: far.
  peers:
    partner: {key: UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4, share: [], admin: true}
  rules:
    - {tools: far.gpu.*, version: 1.4.0, hosts: 2, labels: {gpu: 1}, avoid: {spot: true}, near: region, durable: at-most-once}
    - tools: "*"
  callers: {partner/alice: {grants: [fs:read]}, partner: {rate: 5/m}, "*": {}}
  max_calls: 8
`

var valid = []string{
	full, "", "\n\n", "# only a comment\n", "---\n", "---\nlog_level: info\n...\n", "null\n", "{}\n", "plugins:\n", "plugins:\n  a:\n",
	"plugins: {a: {arguments: }}\n", `{"plugins": {"a": {"config": {"x": 1e3}}}}`, "plugins: {a: &x {enabled: false}, b: *x}\n",
	`callers: {a: {"grants":["fs:read"]}}`, "callers:\n  a:\n    grants: [fs:read, 'exec']\n", "plugins: {a: {arguments: [--x=http://y/z]}}",
	"plugins:\n  a:\n    config:\n      x:\n" + strings.Repeat("      - [1, {}]\n      -\n      - y: [2]\n", 100),
	"plugins: {a: {config: {'': 1}}}\n", "\ufefflog_level: info\r\nroot: .\r\n", "plugins:\n  a:\n    config:\n      text: |\n        one\n        two\n",
	"defaults: {restart: {free: unlimited}}\nplugins: {a: {restart: {free: 2}}}\n",
	"tools: {a: {rename: b}, b: {rename: a}}\n", "tools: {a: {rename: b}, b: {disable: true}}\n",
	"plugins: {a: {environment: {X: 0x1F, Y: 1_000, Z: .inf, EMPTY: ''}}}\n",
	"nats:\n", "nats: {embedded: on}", "nats: {embedded: 0, share: [a]}", "nats: {embedded: off, url: nats://127.0.0.1:4222}",
	sandboxed, "defaults: {sandbox: }\n", "defaults: {sandbox: {net: [a.example:443, \"*.b.example:443\"]}}\n",
}

func parseOK(t *testing.T, file string) *Config {
	t.Helper()
	c, err := Parse("/etc/toolhost/toolhost.yaml", []byte(file))
	if err != nil {
		t.Fatalf("%s\n%v", file, err)
	}
	return c
}

// any reports whether anything changed.
func (c Changes) any() bool {
	for _, keys := range c.Plugins {
		if len(keys) > 0 {
			return true
		}
	}
	return len(c.Host)+len(c.Defaults)+len(c.Servers)+len(c.Tools)+len(c.Callers) > 0
}

func TestParse(t *testing.T) {
	t.Parallel()
	c := parseOK(t, full)
	minute := time.Minute
	db, other := c.Plugin("db"), c.Plugin("other")
	for _, x := range []struct{ got, want any }{
		{c.PluginDirs, []string{filepath.FromSlash("/etc/toolhost/plugins"), "/opt/plugins"}},
		{c.Root, "/etc/toolhost/work"}, {c.CacheDir, "/etc/toolhost/cache"}, {c.Socket, "/etc/toolhost/run/s"},
		{c.LogLevel, "off"}, {c.Audit, Audit{"/etc/toolhost/a.jsonl", tool.Cautious, 1 << 20, 3, 720 * time.Hour}},
		{db.Enabled, true}, {other.Enabled, false}, {c.Plugin("unnamed").Enabled, false},
		{db.Carrier, plugin.Socket}, {db.Limits, plugin.Limits{Running: 8, MaxRetries: 2, Questions: 16}},
		{other.Limits, plugin.Limits{Running: 8, Waiting: 1024, MaxResult: 64 << 20, MaxRetries: 10, Questions: 16}},
		{db.Args, []string{"-v", ""}}, {string(db.Config), `{"a":{"b":true},"z":[1,2.5,null,"x"]}`},
		{db.Namespace, plugin.NamespaceOn}, {db.Previews, false}, {db.IdleTimeout, time.Duration(0)},
		{db.StartTimeout, 20 * time.Second}, {db.CallTimeout, 90 * time.Second}, {db.MaxTimeout, time.Duration(0)},
		{db.Restart, plugin.RestartPolicy{
			Free: 5, Backoff: time.Second, MaxBackoff: time.Second, Quarantine: 6, Cooldown: minute, MaxCooldown: 60 * minute, Lasting: minute,
		}},
		{other.Restart, Default().Defaults.Restart},
		{c.Tools["fs.read"].Name, "read_file"}, {c.Tools["fs.read"].Approval, policy.AllowAll},
		{*c.Tools["fs.read"].RateLimit, tool.RateLimit{Calls: 10, Period: tool.Duration(minute)}},
		{*c.Tools["fs.read"].Permission, tool.Capability("")}, {c.Tools["fs.write"].Disabled, true},
		{*c.Tools["fs.write"].RateLimit, tool.RateLimit{}},
		{c.Callers["mcp"], Caller{
			UID: new(1001), Grants: []tool.Capability{"fs:read", "exec"}, Tools: Visible{[]string{"fs.*", "*_x*"}, []string{"fs.delete"}, tool.Cautious},
			Rate: tool.RateLimit{Calls: 100, Period: tool.Duration(minute)}, MaxCalls: 8, Approval: AnswerNo, ResultLimit: 100,
		}}, {c.Sessions, Sessions{Max: 4}},
		{c.NATS, NATS{
			URL: "tls://user:pw@a.example:4222,tls://b.example", Credentials: "/etc/toolhost/host.creds",
			TLS: fleet.TLS{CA: "/etc/toolhost/ca.crt", Cert: "/c", Key: "/etc/toolhost/k"}, Key: "/etc/toolhost/fleet.key", Name: "build-1",
			Labels: map[string]string{"region": "eu", "gpu": "1", "spot": "true"}, Share: []string{"gpu.*"}, Mount: []string{"*"}, Prefix: "far.",
			Peers: map[string]Peer{"partner": {Key: "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4", Share: []string{}, Admin: true}},
			Rules: []fleet.Rule{{
				Tools: "far.gpu.*", Version: "1.4.0", Hosts: 2, Labels: map[string]string{"gpu": "1"}, Avoid: map[string]string{"spot": "true"}, Near: "region",
				Durable: "at-most-once",
			}, {Tools: "*"}},
			Callers: map[string]Caller{
				"partner/alice": {Grants: []tool.Capability{"fs:read"}}, "partner": {Rate: tool.RateLimit{Calls: 5, Period: tool.Duration(minute)}}, "*": {},
			}, MaxCalls: 8,
		}},
	} {
		if !reflect.DeepEqual(x.got, x.want) {
			t.Errorf("%+v, want %+v", x.got, x.want)
		}
	}
}

// Capabilities need no quotes, in any style.
func TestParseCapabilities(t *testing.T) {
	t.Parallel()
	for _, file := range []string{
		"callers: {cli: {grants: [fs:read, exec, net:out]}}", "callers: {cli: {grants: [ fs:read , exec,\n net:out # why\n ]}}",
		"callers:\n  cli: {grants: [fs:read, exec, net:out]}", "callers: {\"cli\": {\"grants\": [\"fs:read\", exec, 'net:out']}}",
		"callers:\n  cli:\n    grants:\n    - fs:read\n    - exec\n    - net:out",
	} {
		c := parseOK(t, file)
		if got, want := c.Callers["cli"].Grants, []tool.Capability{"fs:read", "exec", "net:out"}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the grants are %q", file, got)
		}
	}
	c := parseOK(t, "plugins: {a: {config: {times: [8:30, [a:b, {c: [d:e]}], true:x]}, arguments: [http://x:80/y]}}")
	if got, want := string(c.Plugin("a").Config), `{"times":["8:30",["a:b",{"c":["d:e"]}],"true:x"]}`; got != want {
		t.Errorf("the configuration is %s, want %s", got, want)
	}
}

func TestParseNothing(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"", "\n", "# c", "\ufeff", "\r\n# c\r\n", "---", "{}", "null"} {
		c := parseOK(t, file)
		if !reflect.DeepEqual(c.Defaults, Default().Defaults) || c.LogLevel != "warn" || len(c.Plugins)+len(c.Tools)+len(c.Callers)+len(c.PluginDirs) > 0 {
			t.Errorf("%q: %+v", file, c)
		}
		if d := Diff(c, Default()); d.any() {
			t.Errorf("%q is not the default: %+v", file, d)
		}
	}
}

// wrong is what is said of a file: the text of its one problem, and the place.
type wrong struct {
	at   place
	text string
	// notYAML: the schema cannot judge it; beyondSchema: it judges otherwise, as it
	// does not know ranges of times and settings that contradict each other.
	notYAML, beyondSchema bool
}

var invalid = map[string]wrong{
	"plugins:\n  db:\n    timout: 5s\n":                             {at: place{3, 5}, text: "plugins.db.timout: unknown key `timout` (known here:"},
	"tools:\n  a.b:\n    timout: 5s\n":                              {at: place{3, 5}, text: "tools.\"a.b\".timout: unknown key `timout` (did you mean `timeout`?)"},
	"plugin:\n":                                                     {at: place{1, 1}, text: "did you mean `plugins`?"},
	"plugins: {a: {args: [x]}}\n":                                   {at: place{1, 15}, text: "did you mean `arguments`?"},
	"plugins: {a: {env: {X: y}}}\n":                                 {at: place{1, 15}, text: "did you mean `environment`?"},
	"defaults: {config: {}}\n":                                      {at: place{1, 12}, text: "unknown key `config`"},
	"[a]\n":                                                         {at: place{1, 1}, text: "expected a mapping of settings, got a list"},
	"text\n":                                                        {at: place{1, 1}, text: "got text"},
	"root:\n":                                                       {at: place{1, 1}, text: "root: it has no value"},
	"root: 5\n":                                                     {at: place{1, 7}, text: "expected a path, got a number"},
	"root: ''\n":                                                    {at: place{1, 7}, text: "the path is empty"},
	"root: ~other/x\n":                                              {at: place{1, 7}, text: "only ~ and ~/ are expanded", beyondSchema: true},
	"root: /a/${NOT_SET_ANYWHERE}/x\n":                              {at: place{1, 7}, text: "the variable NOT_SET_ANYWHERE is not set", beyondSchema: true},
	"root: $HOME/x\n":                                               {at: place{1, 7}, text: "$HOME does not name a variable (write ${NAME})", beyondSchema: true},
	"root: a/${HOME\n":                                              {at: place{1, 7}, text: "${HOME does not name a variable", beyondSchema: true},
	"root: a/${}\n":                                                 {at: place{1, 7}, text: "${} does not name a variable", beyondSchema: true},
	"plugin_dirs: plugins\n":                                        {at: place{1, 14}, text: "expected a list, got text"},
	"plugin_dirs: [a, ./a]\n":                                       {at: place{1, 18}, text: "there twice", beyondSchema: true},
	"log_level: inof\n":                                             {at: place{1, 12}, text: "unknown word `inof` (did you mean `info`?)"},
	"audit: {required: high}\n":                                     {at: place{1, 19}, text: "unknown word `high`"},
	"defaults: {enabled: yes}\n":                                    {at: place{1, 21}, text: "expected true or false, got text"},
	"defaults: {idle_time: 0s}\n":                                   {at: place{1, 23}, text: "0s is out of range (give 1s to 8760h, or never)", beyondSchema: true},
	"defaults: {idle_time: 10}\n":                                   {at: place{1, 23}, text: "10 has no unit"},
	"defaults: {idle_time: -1s}\n":                                  {at: place{1, 23}, text: "`-1s` is not a time"},
	"defaults: {start_timeout: never}":                              {at: place{1, 27}, text: "`never` is not a time"},
	"defaults: {start_timeout: 1h}":                                 {at: place{1, 27}, text: "out of range (give 100ms to 10m)", beyondSchema: true},
	"defaults: {carrier: pigeon}":                                   {at: place{1, 21}, text: "unknown word `pigeon` (use socket, stream, unary)"},
	"defaults: {limits: {running: 0}}":                              {at: place{1, 30}, text: "0 is out of range (give a whole number from 1 to 65536, or unlimited)"},
	"defaults: {limits: {running: -1}}":                             {at: place{1, 30}, text: "-1 is out of range"},
	"defaults: {limits: {running: 1.5}}":                            {at: place{1, 30}, text: "1.5 is out of range"},
	"defaults: {limits: {waiting: 0x10}}":                           {at: place{1, 30}, text: "0x10 is not a plain number"},
	"defaults: {limits: {max_result: 64MB}}":                        {at: place{1, 33}, text: "units are B, KiB, MiB and GiB"},
	"defaults: {limits: {max_result: 5}}":                           {at: place{1, 33}, text: "5 has no unit"},
	"defaults: {limits: {max_result: 2GiB}}":                        {at: place{1, 33}, text: "out of range (give 1KiB to 1GiB, or unlimited)", beyondSchema: true},
	"defaults: {limits: {max_result: 99999999999999GiB}}":           {at: place{1, 33}, text: "not a size", beyondSchema: true},
	"defaults: {limits: {running: unlimited, waiting: 3}}":          {at: place{1, 50}, text: "nothing waits", beyondSchema: true},
	"defaults: {restart: {backoff: 1m}}":                            {at: place{1, 31}, text: "backoff, 1m, is above max_backoff, 10s", beyondSchema: true},
	"defaults: {restart: {max_cooldown: 1s}}":                       {at: place{1, 36}, text: "cooldown, 30s, is above max_cooldown, 1s", beyondSchema: true},
	"defaults: {restart: {free: 10}}":                               {at: place{1, 28}, text: "quarantine, 10, is not above free, 10", beyondSchema: true},
	"defaults: {restart: {free: unlimited, lasting: 1s}}":           {at: place{1, 48}, text: "no effect if free is unlimited", beyondSchema: true},
	"defaults: {restart: {free: 0}}":                                {at: place{1, 28}, text: "0 is out of range"},
	"plugins: {-a: {}}":                                             {at: place{1, 11}, text: "begins with a letter"},
	"plugins:\n  DB: {}\n  db: {}\n":                                {at: place{3, 3}, text: "differ in case", beyondSchema: true},
	"plugins: {a: {config: [1]}}":                                   {at: place{1, 23}, text: "a JSON object"},
	"plugins: {a: {config: {x: 012}}}":                              {at: place{1, 27}, text: "programs read 012 differently", beyondSchema: true},
	"plugins: {a: {environment: {1A: x}}}":                          {at: place{1, 29}, text: "a variable's name"},
	"plugins: {a: {environment: {PLUGIN_X: x}}}":                    {at: place{1, 29}, text: "handshake"},
	"plugins: {a: {environment: {A: }}}":                            {at: place{1, 29}, text: `"" is an empty text`},
	"plugins: {a: {environment: {A: [x]}}}":                         {at: place{1, 32}, text: "expected text, got a list (give text, {from_env: NAME} or"},
	"plugins: {a: {environment: {A: {}}}}":                          {at: place{1, 32}, text: "exactly one of"},
	"plugins: {a: {environment: {A: {from_env: X, from_file: Y}}}}": {at: place{1, 32}, text: "exactly one of"},
	"plugins: {a: {environment: {A: {fromenv: X}}}}":                {at: place{1, 33}, text: "did you mean `from_env`?"},
	"plugins: {a: {environment: [A]}}":                              {at: place{1, 28}, text: "a mapping of names"},
	"tools: {a b: {}}":                                              {at: place{1, 9}, text: "a tool's name has"},
	"tools: {a: {rename: a/b}}":                                     {at: place{1, 21}, text: "`a/b` is not a tool's name"},
	"tools: {a: {rename: a}}":                                       {at: place{1, 21}, text: "has this name already", beyondSchema: true},
	"tools: {a: {rename: c}, b: {rename: c}}":                       {at: place{1, 37}, text: "a is renamed to c too", beyondSchema: true},
	"tools: {a: {rename: b}, b: {}}":                                {at: place{1, 21}, text: "there is a tool b already", beyondSchema: true},
	"tools: {a: {safety: none}}":                                    {at: place{1, 21}, text: "unknown word"},
	"tools: {a: {rate: 10}}":                                        {at: place{1, 19}, text: "expected a rate"},
	"tools: {a: {rate: 10/}}":                                       {at: place{1, 19}, text: "`10/` is not a rate"},
	"tools: {a: {rate: 0/1m}}":                                      {at: place{1, 19}, text: "is not a rate", beyondSchema: true},
	"tools: {a: {rate: 1/0s}}":                                      {at: place{1, 19}, text: "is not a rate", beyondSchema: true},
	"tools: {a: {timeout: 0s}}":                                     {at: place{1, 22}, text: "out of range", beyondSchema: true},
	"tools: {a: {retries: 11}}":                                     {at: place{1, 22}, text: "out of range"},
	"tools: {a: {permission: FS}}":                                  {at: place{1, 25}, text: "is not a capability"},
	"callers: {a: {grants: [exec, 'fs:']}}":                         {at: place{1, 30}, text: "callers.a.grants[1]: `fs:` is not a capability"},
	"callers: {a: {approval:ask}}":                                  {at: place{1, 15}, text: "a:b inside { } can be read in two ways (quote it", notYAML: true},
	"callers: {cli: {grants: [fs :read]}}":                          {at: place{1, 26}, text: "a:b inside { } can be read in two ways (quote it", notYAML: true},
	"callers: {a: {uid: -1}}":                                       {at: place{1, 20}, text: "-1 is out of range"},
	"callers: {a: {uid: 1}, b: {uid: 1}}":                           {at: place{1, 33}, text: "a is the user 1 too", beyondSchema: true},
	"callers: {a: {rate: 5}}":                                       {at: place{1, 21}, text: "expected a rate, got a number"},
	"sessions: {max: 0}":                                            {at: place{1, 17}, text: "0 is out of range"},
	"callers: {a: {grants: [exec, exec]}}":                          {at: place{1, 30}, text: "exec is there twice", beyondSchema: true},
	"callers: {a: {tools: {allow: []}}}":                            {at: place{1, 30}, text: "the list is empty"},
	"callers: {a: {tools: {allow: ['a b']}}}":                       {at: place{1, 31}, text: "`a b` is not a tool's name or a pattern"},
	"callers: {a: {tools: {allow: [x], deny: [y, x]}}}":             {at: place{1, 45}, text: "both allowed and denied", beyondSchema: true},
	"callers: {a: {approval: maybe}}":                               {at: place{1, 25}, text: "unknown word `maybe`"},
	"approvals: {ask: [queue, queue]}":                              {at: place{1, 26}, text: "approvals.ask[1]: queue is there twice (keep one of them)"},
	"approvals: {ask: }":                                            {at: place{1, 13}, text: "it has no value (give one or more of client, terminal and queue"},
	"callers: {a: {result_limit: -5}}":                              {at: place{1, 29}, text: "out of range"},

	"nats: {url: a.example:4222}":                                         {at: place{1, 13}, text: "this is not a URL (give a URL such as tls://"},
	"nats: {url: 'http://a.example'}":                                     {at: place{1, 13}, text: "this is not a URL"},
	"nats: {url: 'nats://a b'}":                                           {at: place{1, 13}, text: "this is not a URL"},
	"nats: {embedded: yes}":                                               {at: place{1, 18}, text: "`yes` is not a whole number from 0 to 65535, or off, or on"},
	"nats: {embedded: 65536}":                                             {at: place{1, 18}, text: "out of range"},
	"nats: {embedded: on, url: 'nats://a'}":                               {at: place{1, 27}, text: "no effect with nats.embedded", beyondSchema: true},
	"nats: {embedded: on, credentials: a}":                                {at: place{1, 35}, text: "no effect with nats.embedded", beyondSchema: true},
	"nats: {url: 'nats://a', tls: {cert: a}}":                             {at: place{1, 37}, text: "a certificate needs its key", beyondSchema: true},
	"nats: {url: 'nats://a', tls: {key: a}}":                              {at: place{1, 36}, text: "a key needs its certificate", beyondSchema: true},
	"nats: {name: a b}":                                                   {at: place{1, 14}, text: "`a b` is not a host's name"},
	"nats: {labels: {a: ''}}":                                             {at: place{1, 20}, text: "is empty"},
	"nats: {labels: {a: [b]}}":                                            {at: place{1, 20}, text: "expected a text of 1 to 64 characters, got a list"},
	"nats: {labels: {a=b: c}}":                                            {at: place{1, 17}, text: "a label's name has 1 to 64"},
	"nats: {labels: {" + strings.Repeat("a", 65) + ": c}}":                {at: place{1, 17}, text: "a label's name has 1 to 64"},
	"nats: {labels: {" + manyLabels + "}}":                                {at: place{1, 16}, text: "there are 33 labels, more than 32", beyondSchema: true},
	"nats: {share: a}":                                                    {at: place{1, 15}, text: "expected a list, got text"},
	"nats: {share: [a/b]}":                                                {at: place{1, 16}, text: "nats.share[0]: `a/b` is not a tool's name"},
	"nats: {share: ['[']}":                                                {at: place{1, 16}, text: "`[` is not a tool's name"},
	"nats: {peers: {a: {}}}":                                              {at: place{1, 16}, text: "the host has no key", beyondSchema: true},
	"nats: {peers: {a: {key: x}}}":                                        {at: place{1, 25}, text: "`x` is not the public half of a host's key"},
	"nats: {peers: {a: {key: " + seed + "}}}":                             {at: place{1, 25}, text: "is not the public half"},
	"nats: {peers: {a: {key: U" + strings.Repeat("A", 55) + "}}}":         {at: place{1, 25}, text: "a letter or digit is wrong", beyondSchema: true},
	"nats: {peers: {a: {key: " + public + "}, b: {key: " + public + "}}}": {at: place{1, 93}, text: "a has this key too", beyondSchema: true},
	"nats: {peers: {a: {key: " + public + ", keys: [" + public + "]}}}":   {at: place{1, 90}, text: "a has this key too", beyondSchema: true},
	"nats: {peers: {a: {keys: [" + public + ", " + public + "]}}}":        {at: place{1, 85}, text: "a has this key too", beyondSchema: true},
	"nats: {peers: {a: {keys: []}}}":                                      {at: place{1, 16}, text: "the host has no key", beyondSchema: true},
	"nats: {peers: {a: {keys: [x]}}}":                                     {at: place{1, 27}, text: "`x` is not the public half of a host's key"},
	"nats: {peers: {-a: {}}}":                                             {at: place{1, 16}, text: "a host's name has"},
	"nats: {peers: {a: {key: " + public + ", shares: []}}}":               {at: place{1, 83}, text: "did you mean `share`?"},
	"nats: {rules: [{version: newest}]}":                                  {at: place{1, 16}, text: "the rule is of no tools", beyondSchema: true},
	"nats: {rules: [{tools: a, durable: twice}]}":                         {at: place{1, 36}, text: "unknown word `twice`"},
	"nats: {callers: {'*/a': {}}}":                                        {at: place{1, 18}, text: "this name cannot be used here (a host's name"},
	"nats: {callers: {a: {uid: 1}}}":                                      {at: place{1, 22}, text: "unknown key `uid`"},
	"nats: {callers: {a: {grants: [exec, exec]}}}":                        {at: place{1, 37}, text: "exec is there twice", beyondSchema: true},
	"nats: {max_calls: 0}":                                                {at: place{1, 19}, text: "0 is out of range"},

	"sandbox: {net: none}":                                                     {at: place{1, 1}, text: "unknown key `sandbox` (put it under defaults, for all plugins, or under plugins"},
	"defaults: {sandbox: strict}":                                              {at: place{1, 21}, text: "expected a mapping of settings, got text"},
	"defaults: {sandbox: {network: none}}":                                     {at: place{1, 22}, text: "did you mean `net`?"},
	"defaults: {sandbox: {level: strct}}":                                      {at: place{1, 29}, text: "unknown word `strct` (did you mean `strict`?)"},
	"defaults: {sandbox: {level: off}}":                                        {at: place{1, 29}, text: "unknown word `off` (use strict, best-effort, none)"},
	"defaults: {sandbox: {net:}}":                                              {at: place{1, 22}, text: "it has no value"},
	"defaults: {sandbox: {read: /usr}}":                                        {at: place{1, 28}, text: "`/usr` is not a list of paths"},
	"defaults: {sandbox: {read: [cache]}}":                                     {at: place{1, 29}, text: "`cache` is not a path (give a path, or one of the words workspace and any)"},
	"defaults: {sandbox: {read: [/]}}":                                         {at: place{1, 29}, text: "sandbox.read[0]: / is everything (write any in its place)", beyondSchema: true},
	"defaults: {sandbox: {write: [//./]}}":                                     {at: place{1, 30}, text: "/ is everything (write any in its place)", beyondSchema: true},
	"defaults: {sandbox: {write: [none]}}":                                     {at: place{1, 30}, text: "`none` is not a path"},
	"defaults: {sandbox: {write: [a, /x/../proc/1/mem]}}":                      {at: place{1, 33}, text: "sandbox.write[1]: /proc/1/mem shows or changes the system", beyondSchema: true},
	"defaults: {sandbox: {read: [/sys]}}":                                      {at: place{1, 29}, text: "/sys shows or changes the system", beyondSchema: true},
	"defaults: {sandbox: {write: [\"a\\x07b\"]}}":                              {at: place{1, 30}, text: `a\ab` + "` is not a path"},
	"defaults: {sandbox: {write: [\"a\\0b\"]}}":                                {at: place{1, 30}, text: "is not a path"},
	"defaults: {sandbox: {write: ['']}}":                                       {at: place{1, 30}, text: "the path is empty"},
	"defaults: {sandbox: {write: ['~other']}}":                                 {at: place{1, 30}, text: "only ~ and ~/ are expanded", beyondSchema: true},
	"defaults: {sandbox: {write: ['${NOT_SET_ANYWHERE}']}}":                    {at: place{1, 30}, text: "NOT_SET_ANYWHERE is not set", beyondSchema: true},
	"defaults: {sandbox: {write: [a, any]}}":                                   {at: place{1, 33}, text: "any includes the others", beyondSchema: true},
	"defaults: {sandbox: {write: [a, ./a]}}":                                   {at: place{1, 33}, text: "is there twice", beyondSchema: true},
	"defaults: {sandbox: {net: [\"*\"]}}":                                      {at: place{1, 28}, text: "sandbox.net[0]: \"*\": it is too wide", beyondSchema: true},
	"defaults: {sandbox: {net: [\"*:443\"]}}":                                  {at: place{1, 28}, text: "it is too wide", beyondSchema: true},
	"defaults: {sandbox: {net: [\"*.com:443\"]}}":                              {at: place{1, 28}, text: "it is too wide", beyondSchema: true},
	"defaults: {sandbox: {net: [\"0.0.0.0:80\"]}}":                             {at: place{1, 28}, text: "does not stand for one machine", beyondSchema: true},
	"defaults: {sandbox: {net: [a.example:0]}}":                                {at: place{1, 28}, text: "a port is a number from 1 to 65535", beyondSchema: true},
	"defaults: {sandbox: {net: [a.example]}}":                                  {at: place{1, 28}, text: "it has no port", beyondSchema: true},
	"defaults: {sandbox: {net: [none]}}":                                       {at: place{1, 28}, text: "`none` is not a host with a port"},
	"defaults: {sandbox: {net: [*.a.example:443]}}":                            {at: place{1, 28}, text: "quote it if it is meant to be text", notYAML: true},
	"defaults: {sandbox: {net: [a.example:443, 5]}}":                           {at: place{1, 43}, text: "expected a host with a port, got a number"},
	"defaults: {sandbox: {exec: [none]}}":                                      {at: place{1, 29}, text: "`none` is not a program"},
	"defaults: {sandbox: {exec: [git status]}}":                                {at: place{1, 29}, text: "`git status` is not a program", beyondSchema: true},
	"defaults: {sandbox: {exec: [\"*\"]}}":                                     {at: place{1, 29}, text: "`*` is not a program", beyondSchema: true},
	"defaults: {sandbox: {exec: [git, /proc/self/exe]}}":                       {at: place{1, 34}, text: "/proc/self/exe shows or changes", beyondSchema: true},
	"defaults: {sandbox: {memory: 512}}":                                       {at: place{1, 30}, text: "512 has no unit"},
	"defaults: {sandbox: {memory: 15MiB}}":                                     {at: place{1, 30}, text: "15MiB is out of range (give 16MiB to 65536GiB, or declared, or unlimited)", beyondSchema: true},
	"defaults: {sandbox: {memory: 512MB}}":                                     {at: place{1, 30}, text: "units are B, KiB, MiB and GiB"},
	"defaults: {sandbox: {cpu: 0}}":                                            {at: place{1, 27}, text: "0 is out of range (give a number of processors from 0.01"},
	"defaults: {sandbox: {cpu: -0.5}}":                                         {at: place{1, 27}, text: "-0.5 is out of range"},
	"defaults: {sandbox: {cpu: .nan}}":                                         {at: place{1, 27}, text: ".nan is not a plain number"},
	"defaults: {sandbox: {cpu: half}}":                                         {at: place{1, 27}, text: "`half` is not a number of processors"},
	"defaults: {sandbox: {pids: 0}}":                                           {at: place{1, 28}, text: "0 is out of range (give a whole number from 8 to 4194304, or default, or unlimited)"},
	"defaults: {sandbox: {pids: 8.5}}":                                         {at: place{1, 28}, text: "8.5 is out of range"},
	"defaults: {sandbox: {files: -1}}":                                         {at: place{1, 29}, text: "-1 is out of range (give a whole number from 16"},
	"defaults: {sandbox: {disk: 1KiB}}":                                        {at: place{1, 28}, text: "out of range (give 1MiB", beyondSchema: true},
	"defaults: {sandbox: {env: [A=b]}}":                                        {at: place{1, 28}, text: "sandbox.env[0]: this is not a variable's name"},
	"defaults: {sandbox: {env: [PLUGIN_X]}}":                                   {at: place{1, 28}, text: "TOOLHOST_PLUGIN and PLUGIN_..."},
	"defaults: {sandbox: {env: {A: b}}}":                                       {at: place{1, 27}, text: "expected a list of names"},
	"defaults: {sandbox: {env: [A, A]}}":                                       {at: place{1, 31}, text: "A is there twice", beyondSchema: true},
	"defaults: {sandbox: {level: none, cpu: 1}}":                               {at: place{1, 40}, text: "no effect at the level none", beyondSchema: true},
	"defaults: {sandbox: {level: none}}\nplugins: {a: {sandbox: {net: none}}}": {at: place{2, 30}, text: "no effect at the level none", beyondSchema: true},
	"mcp_servers: {a: {url: 'https://a', sandbox: {net: none}}}":               {at: place{1, 46}, text: "no effect with url", beyondSchema: true},
	"mcp_servers: {a: {command: a, sandbox: {net: [a]}}}":                      {at: place{1, 47}, text: "mcp_servers.a.sandbox.net[0]: \"a\": it has no port", beyondSchema: true},

	"'': x\n":                              {at: place{1, 1}, text: "unknown key `` (known here: "},
	"plugins: {'': {}}\n":                  {at: place{1, 11}, text: "a plugin's name has 1 to 64"},
	"tools: {a: {'': 1}}\n":                {at: place{1, 13}, text: "unknown key ``"},
	"plugins: {a: {environment: {'': 1}}}": {at: place{1, 29}, text: "a variable's name has"},
	"root: a\nroot: b\n":                   {at: place{2, 1}, text: "the key `root` is there twice, first on line 1", notYAML: true},
	"root: a\n---\nroot: b\n":              {at: place{3, 5}, text: "several documents", notYAML: true},
	"root:\n\tx: y\n":                      {at: place{2, 1}, text: "a tab indents the line (indent with spaces)", notYAML: true},
	"root: [a\n":                           {at: place{1, 7}, text: "this is not YAML", notYAML: true},
	"root: 'a\n":                           {at: place{1, 7}, text: "this is not YAML", notYAML: true},
	"root: !!str a\n":                      {at: place{1, 7}, text: "tags such as !!str are not read", notYAML: true},
	"%YAML 1.2\n---\nroot: a\n":            {at: place{1, 1}, text: "directives are not read", notYAML: true},
	"root: *x\n":                           {at: place{1, 7}, text: "there is no anchor for *x", notYAML: true},
	"plugins: {a: &x {enabled: true}, b: {<<: *x}}": {at: place{1, 38}, text: "merge keys (<<) are not read", notYAML: true},
	"? root\n: a\n":        {at: place{1, 1}, text: "keys of this form are not read", notYAML: true},
	"root: a\x00b\n":       {at: place{1, 8}, text: "control character U+0000", notYAML: true},
	"root: é\xffb\n":       {at: place{1, 8}, text: "not UTF-8", notYAML: true},
	"root: a\rsocket: b\n": {at: place{1, 8}, text: "control character U+000D", notYAML: true},
	strings.Repeat("[", 100) + strings.Repeat("]", 100): {at: place{1, 65}, text: "nested deeper than 64", notYAML: true},
	strings.Repeat("- ", 9000) + "a":                    {at: place{1, 129}, text: "nested deeper than 64", notYAML: true},
	"tools:\n  a: {disable: true}\n" + manyTools:        {at: place{2, 3}, text: "there are 1001 names, more than 1000"},
	strings.Repeat("- x\n", 10_001):                     {at: place{10_001, 1}, text: "more than 20000 words", notYAML: true},
	strings.Repeat("\n", maxLines):                      {at: place{maxLines, 1}, text: "more than 20000 lines", notYAML: true},
	"root: " + strings.Repeat("x", MaxSize):             {at: place{1, 1}, text: "more than 1048576 bytes", notYAML: true},
}

const (
	seed   = "SUAMLK2ZNL35WSMW37E7UD4VZ7ELPKW7DHC3BWBSD2GCZ7IUQQXZIORRBU"
	public = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
)

// manyLabels are 33.
var manyLabels = func() string {
	var all []string
	for i := range 33 {
		all = append(all, fmt.Sprintf("l%d: x", i))
	}
	return strings.Join(all, ", ")
}()

// manyTools are 1000 tools, b0 to b999.
var manyTools = func() string {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "  b%d: {}\n", i)
	}
	return b.String()
}()

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for file, want := range invalid {
		c, err := Parse("dir/toolhost.yaml", []byte(file))
		var e *Error
		if c != nil || !errors.As(err, &e) || len(e.Problems) == 0 {
			t.Errorf("%.200q: %v, %v", file, c, err)
			continue
		}
		p := e.Problems[0]
		if len(e.Problems) != 1 || !strings.Contains(p.String(), want.text) || (place{p.Line, p.Column}) != want.at || p.File != "dir/toolhost.yaml" || p.Snippet == "" {
			t.Errorf("%.200q:\n%v\nwant one problem at %v with %q", file, err, want.at, want.text)
		}
	}
}

// Aliases of aliases are followed only as far as there is room.
func TestParseAliasBomb(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("plugins:\n  p:\n    config:\n      a: &a [x, x, x, x, x, x, x, x, x, x]\n")
	for _, name := range []string{"b", "c", "d", "e", "f", "g"} {
		before := string(name[0] - 1)
		b.WriteString("      " + name + ": &" + name + " [" + strings.Repeat("*"+before+", ", 10) + "]\n")
	}
	_, err := Parse("toolhost.yaml", []byte(b.String()))
	assert.ErrorContains(t, err, "with its aliases followed, the file has more than 50000 values")
	c := parseOK(t, "plugins:\n  a: &a\n    environment: {X: \"1\"}\n  b: *a\n  c: {environment: {X: '1'}}\n")
	if !reflect.DeepEqual(c.Plugin("a"), c.Plugin("b")) || !c.Plugin("b").Environment.Equal(c.Plugin("c").Environment) {
		t.Error("an alias is not its value")
	}
}

// All problems are told, in the order of the lines.
func TestParseTellsAll(t *testing.T) {
	t.Parallel()
	file := "# c\nlog_level: loud\nplugins:\n  db:\n    enabld: true\n    idle_time: soon\nrot: .\n"
	_, err := Parse("t.yaml", []byte(file))
	const want = "t.yaml:2:12: log_level: unknown word `loud` (use trace, debug, info, warn, error, off)\n" +
		"  2 | log_level: loud\n    |            ^\n" +
		"t.yaml:5:5: plugins.db.enabld: unknown key `enabld` (did you mean `enabled`?)\n" +
		"  5 |     enabld…\n    |     ^\n" +
		"t.yaml:6:16: plugins.db.idle_time: `soon` is not a time (give a time such as 30s or 10m, or never)\n" +
		"  6 |     idle_time: soon\n    |                ^\n" +
		"t.yaml:7:1: rot: unknown key `rot` (did you mean `root`?)\n" +
		"  7 | rot…\n    | ^"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
	_, err = Parse("t.yaml", []byte(strings.Repeat("k: 1\n", 200)))
	var e *Error
	if !errors.As(err, &e) || len(e.Problems) != maxProblems || e.Omitted != 150 || !strings.HasSuffix(err.Error(), "and 150 more problems") {
		t.Errorf("%v", err)
	}
}
