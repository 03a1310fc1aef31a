package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What is inserted is read as it was meant, and all other lines stay.
func TestInsert(t *testing.T) {
	t.Parallel()
	s := Server{
		Command: "npx", Args: Arguments{"-y", "@a/b", "true", "${X}", "a: b # c", "\u2028"}, Dir: "${workspaceFolder}/a", EnvFile: "x y",
		Env: Environment{Value("A", "1"), {Name: "B", FromEnv: "HOME"}, {Name: "C", FromFile: "/c"}, Value("D", "null")},
	}
	far := Server{URL: "https://x/mcp", Headers: Environment{Value("X-A", "b: c")}, Transport: TransportSSE}
	far.Enabled = true
	far.OAuth = OAuth{ClientID: "1", ClientSecret: Value("client_secret", "${S}"), Scopes: []string{"a:b", "c"}, Port: 8123, Issuer: "https://l.example"}
	for before, want := range map[string]string{
		"":                          "",
		"# mine\nlog_level: info\n": "# mine\nlog_level: info\n",
		"mcp_servers: # c\n    # first\n    x: {command: y} # d\n\nlog_level: info":              "    # first\n    x: {command: y} # d\n\nlog_level: info\n",
		"mcp_servers:\nlog_level: info\n":                                                        "\nlog_level: info\n",
		"mcp_servers:\n  own:\n    command: old\n\n    args: [a]\n  # next\n  y: {command: z}\n": "  # next\n  y: {command: z}\n",
	} {
		text, err := Insert(before, "mcp_servers", [][]string{s.Lines("own"), far.Lines("far")})
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%s becomes\n%s, %v", before, text, err)
			continue
		}
		c, err := Parse("t.yaml", []byte(text))
		if err != nil {
			t.Errorf("%s becomes\n%s\n%v", before, text, err)
			continue
		}
		got := c.Servers["own"]
		if got.Command != s.Command || !slices.Equal(got.Args, s.Args) || got.Dir != s.Dir || got.EnvFile != s.EnvFile || !got.Env.Equal(s.Env) || got.Enabled {
			t.Errorf("%s is read as %+v", text, got)
		}
		if got := c.Servers["far"]; got.URL != far.URL || !got.Headers.Equal(far.Headers) || got.Transport != TransportSSE || !got.Enabled ||
			!reflect.DeepEqual(got.OAuth, far.OAuth) {
			t.Errorf("%s is read as %+v", text, got)
		}
	}
	if text, err := Insert("mcp_servers: {a: {command: b}}\n", "mcp_servers", [][]string{far.Lines("far")}); err == nil {
		t.Errorf("in braces: %s", text)
	}
	text, err := Insert("tools:\n", "tools", [][]string{{ToolLine("a.b", tool.Safe, true)}, {ToolLine("c", tool.Cautious, false)}})
	c, bad := Parse("t.yaml", []byte(text))
	if err != nil || bad != nil || c.Tools["a.b"].Safety != tool.Safe || c.Tools["a.b"].Idempotent == nil || c.Tools["c"].Safety != tool.Cautious {
		t.Errorf("%s: %v, %v", text, err, bad)
	}
}

func TestDetached(t *testing.T) {
	t.Parallel()
	var asked []string
	got := Server{
		Command: "./bin/x", Dir: "a", EnvFile: "/e", Args: Arguments{"${input:api key}", "${Y}"}, Headers: Environment{Value("A", "Bearer ${input:t}")},
		OAuth: OAuth{ClientSecret: Value("client_secret", "${input:s}")},
	}.Detached(func(name, id string) { asked = append(asked, name+"="+id) })
	want := Server{
		Command: "${workspaceFolder}/bin/x", Dir: "${workspaceFolder}/a", EnvFile: "/e", Args: Arguments{"${API_KEY}", "${Y}"},
		Headers: Environment{Value("A", "Bearer ${T}")}, OAuth: OAuth{ClientSecret: Value("client_secret", "${S}")},
	}
	if got.Command != want.Command || got.Dir != want.Dir || got.EnvFile != want.EnvFile || !slices.Equal(got.Args, want.Args) ||
		!got.Headers.Equal(want.Headers) || !reflect.DeepEqual(got.OAuth, want.OAuth) ||
		!slices.Equal(asked, []string{"S=s", "API_KEY=api key", "T=t"}) {
		t.Errorf("%+v, %q", got, asked)
	}
}
