package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
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

// ToolLine returns what the file says of a tool whose level the operator accepted.
func ToolLine(name string, safety tool.Safety, idempotent bool) string {
	text := fmt.Sprintf("%s: {safety: %s", name, safety)
	if idempotent {
		text += ", idempotent: true"
	}
	return text + "}"
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

// Insert returns the text of a file with entries in one of its mappings at the top, which it
// adds if it is not there. Entries are lines without indentation, of which the first begins with
// the name. An entry of a name that is there is replaced. All other lines stay as they are.
//
// # Errors
//
// A plain error if the mapping is not written as lines beneath its key.
func Insert(text, key string, entries [][]string) (string, error) {
	if len(entries) == 0 {
		return text, nil
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if text == "" {
		lines = nil
	}
	head := regexp.MustCompile(`^` + key + `:[ \t]*(#.*)?$`)
	at := slices.IndexFunc(lines, head.MatchString)
	if at < 0 {
		if slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, key+":") }) {
			return "", fmt.Errorf("%s is not written as lines beneath the key (add them by hand: --print shows them)", key)
		}
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, key+":")
		at = len(lines) - 1
	}
	indent := "  "
	for _, l := range lines[at+1:] {
		trimmed := strings.TrimLeft(l, " ")
		if trimmed == "" || trimmed[0] == '#' {
			continue
		}
		if len(trimmed) < len(l) {
			indent = l[:len(l)-len(trimmed)]
		}
		break
	}
	var added []string
	for _, entry := range entries {
		name, _, _ := strings.Cut(entry[0], ":")
		lines = removeEntry(lines, at, indent, name)
		for _, l := range entry {
			added = append(added, indent+l)
		}
	}
	return strings.Join(slices.Insert(lines, at+1, added...), "\n") + "\n", nil
}

// removeEntry removes the lines of an entry of the mapping whose key is at a line.
func removeEntry(lines []string, at int, indent, name string) []string {
	for i := at + 1; i < len(lines); i++ {
		trimmed := strings.TrimLeft(lines[i], " ")
		depth := len(lines[i]) - len(trimmed)
		if trimmed != "" && depth < len(indent) && trimmed[0] != '#' {
			return lines // the next key
		}
		found, _, ok := strings.Cut(trimmed, ":")
		if !ok || depth != len(indent) || strings.Trim(found, `"'`) != name {
			continue
		}
		end := i + 1
		for end < len(lines) {
			rest := strings.TrimLeft(lines[end], " ")
			if rest != "" && len(lines[end])-len(rest) <= len(indent) {
				break
			}
			end++
		}
		return slices.Delete(lines, i, end)
	}
	return lines
}

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
