package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

func surroundings(variables map[string]string) Surroundings {
	return Surroundings{Root: filepath.FromSlash("/srv/space"), Lookup: func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	}}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	in := surroundings(map[string]string{"A": "a", "EMPTY": "", "REF": "${A}", "LONG": strings.Repeat("x", maxValue+1)})
	for text, want := range map[string]string{
		"":                             "",
		"$A $ {A} $$ {}":               "$A $ {A} $$ {}",
		"-${A}-${env:A}-":              "-a-a-",
		"${NONE:-b c}":                 "b c",
		"${NONE:-}${EMPTY}${EMPTY:-d}": "d",
		"${A:-d}":                      "a",
		"${REF}":                       "${A}", // what a variable stands for is text
		"${NONE:-http://h:1/p}":        "http://h:1/p",
		"${workspaceFolder}":           in.Root,
		"${workspaceFolderBasename}${/}${pathSeparator}": "space" + strings.Repeat(string(filepath.Separator), 2),
	} {
		if got, err := in.expand(text); err != nil || got != want {
			t.Errorf("%s is %q, %v, want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"${NONE}":           "the variable NONE is not set",
		"${env:NONE}":       "the variable NONE is not set",
		"${NONE} ${OTHER}":  "the variable OTHER is not set",
		"${input:api-key}":  "write ${API_KEY}, and set that variable",
		"${command:x}":      "does not name a variable",
		"${}":               "does not name a variable",
		"${A":               "has no }",
		"${LONG}":           "more than 65536 bytes",
		"${A}\x00":          "NUL",
		"${config:a.b.c} x": "does not name a variable",
	} {
		if got, err := in.expand(text); err == nil || got != "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %q, %v, want %s", text, got, err, want)
		}
	}
}

func TestServerResolve(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	write("some.env", "# c\nexport FROM=file\nBOTH=file\nQ=\"a\\nb # c\" # d\nM='x\ny'\nP=a$b # c\nE=\nU=http://h/#x\n")
	write("broken.env", "A=1\nno pair "+secret+"\n")
	write("open.env", "A='"+secret+"\n")
	write("token", secret+"\n")
	write("toolhost.yaml", `defaults: {environment: {DEFAULT: d}, idle_time: 3m, start_timeout: 2s}
mcp_servers:
  program:
    command: ./bin/${NAME}
    args: [-y, "--token=${TOKEN}", "3"]
    env: {BOTH: entry, T: {from_file: token}, V: "x${TOKEN}", N: 1, R: {from_env: REF}}
    env_file: some.env
    cwd: ~/
  remote: {url: "https://${HOST:-h.example}/mcp", headers: {Authorization: "Bearer ${TOKEN}"}, transport: sse}
  inPath: {command: npx, start_timeout: 3s}
  unset: {command: npx, args: ["${NOT_SET}"], env: {A: "`+secret+`${ALSO_NOT}"}}
  neither: {}
  both: {command: a, url: "https://b"}
  stray: {url: "https://b", args: [x]}
  headed: {command: a, headers: {A: b}}
  noFile: {command: a, env_file: none.env}
  brokenFile: {command: a, env_file: broken.env}
  openFile: {command: a, env_file: open.env}
  noURL: {url: "${EMPTY}"}
  badURL: {url: "${NAME}://x"}
  lone: {url: "https://b", oauth: {client_secret: `+secret+`}}
  registered: {url: "https://b", oauth: {client_id: a, client_secret: {from_file: token}}}
  unregistered: {url: "https://b", oauth: {client_id: a, client_secret: "`+secret+`${NOT_SET}"}}
  split: {url: "https://b", headers: {A: "${SPLIT}"}}
`)
	c := require.Must(Load(filepath.Join(dir, "toolhost.yaml")))(t)
	in := surroundings(map[string]string{"NAME": "server", "TOKEN": secret, "REF": "${X}", "EMPTY": "", "SPLIT": "a\nb"})
	got := require.Must(c.Servers["program"].Resolve(in))(t)
	userHome := require.Must(os.UserHomeDir())(t)
	env := []string{
		"BOTH=entry", "E=", "FROM=file", "M=x\ny", "N=1", "P=a$b", "Q=a\nb # c", "R=${X}", "T=" + secret, "U=http://h/#x", "V=x" + secret,
	}
	if got.Command != filepath.Join(dir, "bin", "server") || got.Dir != userHome ||
		!slices.Equal(got.Args, []string{"-y", "--token=" + secret, "3"}) || !slices.Equal(got.Env, env) {
		t.Errorf("%#v", struct{ Target }{got})
	}
	assert.NotContains(t, fmt.Sprintf("%v %+v %#v %s", got, got, got, &got), secret)
	if got, err := c.Servers["remote"].Resolve(in); err != nil || got.URL != "https://h.example/mcp" ||
		got.Headers["Authorization"] != "Bearer "+secret || c.Servers["remote"].Transport != TransportSSE {
		t.Errorf("%#v, %v", struct{ Target }{got}, err)
	}
	if got, err := c.Servers["registered"].Resolve(in); err != nil || got.ClientSecret != secret {
		t.Errorf("%#v, %v", struct{ Target }{got}, err)
	}
	if got, err := c.Servers["inPath"].Resolve(in); err != nil || got.Command != "npx" || got.Dir != "" || got.Env != nil {
		t.Errorf("%#v, %v", struct{ Target }{got}, err)
	}
	for name, want := range map[string]string{
		"unset": "args[0]: the variable NOT_SET is not set", "neither": "neither command nor url", "both": "both command and url",
		"stray": "are for a command", "headed": "headers are for a url", "noFile": "env_file: there is no file",
		"brokenFile": "env_file: line 2 is not NAME=value", "openFile": "line 1 begins a text that does not end",
		"noURL": "url: it is not a URL", "badURL": "url: it is not a URL", "split": "headers.A: a header is one line",
		"lone": "oauth.client_secret is of no client", "unregistered": "oauth.client_secret: the variable NOT_SET is not set",
	} {
		if got, err := c.Servers[name].Resolve(in); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %#v, %v, want %s", name, struct{ Target }{got}, err, want)
		}
	}
	if _, err := c.Servers["unset"].Resolve(in); err == nil || !strings.Contains(err.Error(), "env.A: the variable ALSO_NOT is not set") {
		t.Errorf("not all is reported: %v", err)
	}
	s := c.Servers["program"].Settings
	want := plugin.DefaultSettings()
	want.IdleTimeout, want.StartTimeout = 3*time.Minute, time.Minute
	if !reflect.DeepEqual(s, want) || c.Servers["inPath"].StartTimeout != 3*time.Second {
		t.Errorf("settings are %+v", s)
	}
}

// Nothing that looks like a secret is shown, and what does not is.
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	args := Arguments{
		"-y", "@modelcontextprotocol/server-x@1.2.3", "--token", secret, "--api-key=" + secret, "API_KEY=" + secret, "--port", "8080",
		"--header", "X-API-Key: " + secret, "--header", "Authorization: Bearer ${T}", "sk-" + secret, "ghp_0123456789abcdef",
		"postgres://user:" + secret + "@db/x", "--url", "https://example.com/a/b?c=d", "a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6", "${TOKEN}",
		"/home/user/a-project-with-a-long-name/and/more", "-p", secret,
	}
	got := args.Shown()
	want := []string{
		"-y", "@modelcontextprotocol/server-x@1.2.3", "--token", hiddenValue, "--api-key=" + hiddenValue, "API_KEY=" + hiddenValue, "--port", "8080",
		"--header", "X-API-Key: " + hiddenValue, "--header", "Authorization: Bearer ${T}", hiddenValue, hiddenValue,
		hiddenValue, "--url", "https://example.com/a/b?c=d", hiddenValue, "${TOKEN}",
		"/home/user/a-project-with-a-long-name/and/more", "-p", secret, // which nothing tells from a port or path
	}
	assert.EqualSlices(t, got, want)
	for url, want := range map[Address]string{
		"https://example.com/mcp?a=b":                                "https://example.com/mcp?a=b",
		"https://u:" + secret + "@example.com/mcp":                   "https://(hidden)@example.com/mcp",
		"https://example.com/mcp?api_key=" + secret + "&x=1":         "https://example.com/mcp?api_key=(hidden)&x=1",
		"https://example.com/a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6/mcp":   "https://example.com/(hidden)/mcp",
		"https://example.com/mcp?key=${KEY}":                         "https://example.com/mcp?key=${KEY}",
		"${BASE}/mcp":                                                "${BASE}/mcp",
		"https://mcp.zapier.com/api/mcp/s/ZmE5a0b1c2d3e4f5a6b7/mcp?": "https://mcp.zapier.com/api/mcp/s/ZmE5a0b1c2d3e4f5a6b7/mcp?",
	} {
		assert.Equalf(t, url.Shown(), want, "%s is shown as", url)
	}
	c := parseOK(t, `mcp_servers: {s: {command: x, args: [--token, `+secret+`], env: {A: `+secret+`}},
  u: {url: "https://x/?key=`+secret+`", headers: {H: `+secret+`}, oauth: {client_id: a, client_secret: `+secret+`}}}`)
	text, err := json.Marshal(c)
	if err != nil || strings.Contains(string(text), secret) || !strings.Contains(string(text), `"headers":{"H":"(hidden)"}`) {
		t.Errorf("%s, %v", text, err)
	}
	other := parseOK(t, `mcp_servers: {s: {command: x, args: [--token, other], env: {A: `+secret+`}}}`)
	if d := Diff(c, other); !slices.Equal(d.Servers, []string{"s", "u"}) || len(d.Host) > 0 {
		t.Errorf("differences are %+v", d)
	}
}

// Problems in the neighbourhood of a server's secrets do not show them.
func TestServerProblemsShowNoValue(t *testing.T) {
	t.Parallel()
	for _, file := range []string{
		"mcp_servers: {s: {command: x, args: [--token, " + secret + "], bogus: 1}}",
		"mcp_servers:\n  s:\n    headers: {A: " + secret + "}\n    headers: {A: " + secret + "}\n",
		"mcp_servers:\n  s:\n    headrs:\n      A: " + secret + "\n",
		"mcp_servers:\n  s:\n    args:\n    - " + secret + "\n    - [" + secret + "]\n",
		"mcp_servers:\n  s:\n    url: ftp://u:" + secret + "@h\n",
		"mcp_servers:\n  s:\n    env: [" + secret + "]\n",
		"mcp_servers:\n  s:\n    oauth: {client_secret: " + secret + ", client_secret: " + secret + "}\n",
		"mcp_servers:\n  s:\n    oauth:\n      client_secret: [" + secret + "]\n",
	} {
		if _, err := Parse("t.yaml", []byte(file)); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s\n%v", file, err)
		}
	}
}

// A plugin and a server cannot share a name, in whatever case.
func TestServerNames(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"plugins: {a: {}}\nmcp_servers: {A: {}}", "mcp_servers: {a: {}, A: {}}"} {
		if _, err := Parse("t.yaml", []byte(file)); err == nil || !strings.Contains(err.Error(), "give the server another name") {
			t.Errorf("%s\n%v", file, err)
		}
	}
}

func TestCommandWithSlash(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{"/a/../b": "/b", "bin/x": "/base/bin/x", "x": "x", "${userHome}/x": ""} {
		got, err := Server{Command: command, Base: "/base"}.Resolve(surroundings(nil))
		if err != nil || want != "" && got.Command != want || !filepath.IsAbs(got.Command) && want != "x" {
			t.Errorf("%s is %s, %v", command, got.Command, err)
		}
	}
}
