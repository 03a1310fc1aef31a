package config

import (
	"reflect"
	"slices"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// What is printed of a server is read as it was meant.
func TestLines(t *testing.T) {
	t.Parallel()
	s := Server{
		Command: "npx", Args: Arguments{"-y", "@a/b", "true", "${X}", "a: b # c", "\u2028"}, Dir: "${workspaceFolder}/a", EnvFile: "x y",
		Env: Environment{Value("A", "1"), {Name: "B", FromEnv: "HOME"}, {Name: "C", FromFile: "/c"}, Value("D", "null")},
	}
	far := Server{URL: "https://x/mcp", Headers: Environment{Value("X-A", "b: c")}, Transport: TransportSSE}
	far.Enabled = true
	far.OAuth = OAuth{ClientID: "1", ClientSecret: Value("client_secret", "${S}"), Scopes: []string{"a:b", "c"}, Port: 8123, Issuer: "https://l.example"}
	text := "mcp_servers:\n"
	for _, line := range append(s.Lines("own"), far.Lines("far")...) {
		text += "  " + line + "\n"
	}
	c := require.Must(Parse("t.yaml", []byte(text)))(t)
	got := c.Servers["own"]
	if got.Command != s.Command || !slices.Equal(got.Args, s.Args) || got.Dir != s.Dir || got.EnvFile != s.EnvFile || !got.Env.Equal(s.Env) || got.Enabled {
		t.Errorf("%s is read as %+v", text, got)
	}
	if got := c.Servers["far"]; got.URL != far.URL || !got.Headers.Equal(far.Headers) || got.Transport != TransportSSE || !got.Enabled ||
		!reflect.DeepEqual(got.OAuth, far.OAuth) {
		t.Errorf("%s is read as %+v", text, got)
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
