package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// Lines returns what the file says of a server under its name, as lines of YAML without
// indentation. Of the settings of its process, it has only whether it is enabled.
func (s Server) Lines(name string) []string {
	out := []string{name + ":"}
	add := func(key string, value any) {
		out = append(out, "  "+key+": "+flow(value))
	}
	text := func(key, value string) {
		if value != "" {
			add(key, value)
		}
	}
	block := func(key string, lines []string) {
		if len(lines) == 0 {
			return
		}
		out = append(out, "  "+key+":")
		for _, l := range lines {
			out = append(out, "    "+l)
		}
	}
	text("command", s.Command)
	if len(s.Args) > 0 {
		add("args", []string(s.Args))
	}
	block("env", s.Env.lines())
	text("env_file", s.EnvFile)
	text("cwd", s.Dir)
	text("url", string(s.URL))
	block("headers", s.Headers.lines())
	if s.Transport == TransportSSE {
		add("transport", string(s.Transport))
	}
	block("oauth", s.OAuth.lines())
	if q := s.Questions; q != (Questions{Elicitation: true, Roots: true}) {
		add("questions", q)
	}
	if !s.Enabled {
		add("enabled", false)
	}
	return out
}

// lines returns what the file says of variables.
func (e Environment) lines() (out []string) {
	for _, v := range e {
		name := flow(v.Name)
		switch {
		case v.FromEnv != "":
			out = append(out, fmt.Sprintf("%s: {from_env: %s}", name, flow(v.FromEnv)))
		case v.FromFile != "":
			out = append(out, fmt.Sprintf("%s: {from_file: %s}", name, flow(v.FromFile)))
		case v.value != nil:
			out = append(out, name+": "+flow(*v.value))
		}
	}
	return out
}

func (o OAuth) lines() (out []string) {
	if o.ClientID != "" {
		out = append(out, "client_id: "+flow(o.ClientID))
	}
	out = append(out, Environment{o.ClientSecret}.lines()...)
	if o.Issuer != "" {
		out = append(out, "issuer: "+flow(o.Issuer))
	}
	if o.Port != 0 {
		out = append(out, "callback_port: "+flow(o.Port))
	}
	if len(o.Scopes) > 0 {
		out = append(out, "scopes: "+flow(o.Scopes))
	}
	return out
}

// flow writes a value on one line. JSON is YAML too.
func flow(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	panicIf(e.Encode(v))
	text := strings.ReplaceAll(strings.TrimSpace(b.String()), `","`, `", "`)
	if s, ok := v.(string); ok && plainText().MatchString(s) && !yamlWord().MatchString(s) {
		return s
	}
	return text
}

var (
	plainText = lazy.Regexp(`^[A-Za-z_/][A-Za-z0-9_/.-]*$`)
	yamlWord  = lazy.Regexp(`(?i)^(y|n|yes|no|on|off|true|false|null)$`)
)

// Detached returns the server as a file in another place says it: relative paths begin with the
// workspace, and what an editor asks for is a variable. Asked is told of each such variable, with
// the editor's name for it.
func (s Server) Detached(asked func(variable, id string)) Server {
	fromRoot := func(p string) string {
		if p == "" || filepath.IsAbs(p) || strings.HasPrefix(p, "~") || strings.HasPrefix(p, "${") {
			return p
		}
		return path.Join("${workspaceFolder}", filepath.ToSlash(p))
	}
	if strings.ContainsAny(s.Command, `/\`) {
		s.Command = fromRoot(s.Command)
	}
	s.Dir, s.EnvFile = fromRoot(s.Dir), fromRoot(s.EnvFile)
	text := func(t string) string {
		return input().ReplaceAllStringFunc(t, func(ref string) string {
			id := input().FindStringSubmatch(ref)[1]
			asked(VariableFor(id), id)
			return "${" + VariableFor(id) + "}"
		})
	}
	each := func(e Environment) (out Environment) {
		for _, v := range e {
			if v.value != nil {
				v = Value(v.Name, text(*v.value))
			}
			out = out.With(v)
		}
		return out
	}
	s.OAuth.ClientSecret = each(Environment{s.OAuth.ClientSecret})[0]
	args := Arguments{}
	for _, one := range s.Args {
		args = append(args, text(one))
	}
	s.Args, s.URL, s.Env, s.Headers = args, Address(text(string(s.URL))), each(s.Env), each(s.Headers)
	return s
}

var input = lazy.Regexp(`\$\{input:([^}]*)\}`)
