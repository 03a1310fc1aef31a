package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/trusted"
)

// Target is how a server is reached: a program or a URL, with everything replaced that the
// file refers to. It has secrets.
type Target struct {
	Command string // a path, or a name in PATH
	Args    []string
	Env     []string // NAME=value, sorted by name
	Dir     string   // absolute; empty: the workspace

	URL          string
	Headers      map[string]string
	ClientSecret string

	Files []string // that values were taken from, absolute
}

// String keeps secrets out of what prints a Target.
func (Target) String() string { return "config.Target(hidden)" }

// GoString returns what String does.
func (t Target) GoString() string { return t.String() }

// Resolve replaces the variables in the texts of a server, and reads the files that it takes
// values from.
//
// # Errors
//
// Everything that keeps the server from being reached, on one line for each. No error contains
// a value.
func (s Server) Resolve(in Surroundings) (Target, error) {
	if err := s.contradiction(); err != nil {
		return Target{}, err
	}
	r := resolver{in: in}
	var t Target
	t.Dir = r.path("cwd", s.Dir, s.Base)
	t.Command = r.command(s.Command, s.Base)
	for i, one := range s.Args {
		t.Args = append(t.Args, r.text(item("args", i), one))
	}
	t.Env = r.environment(s)
	t.URL = r.url(string(s.URL))
	for _, v := range s.Headers {
		value := r.variable("headers", v)
		if strings.ContainsAny(value, "\r\n") {
			r.add("headers."+v.Name, errors.New("a header is one line (remove the line break)"))
		}
		if t.Headers == nil {
			t.Headers = map[string]string{}
		}
		t.Headers[v.Name] = value
	}
	t.ClientSecret = r.variable("oauth", s.OAuth.ClientSecret)
	if err := errors.Join(r.errs...); err != nil {
		return Target{}, err
	}
	t.Files = r.files
	return t, nil
}

// contradiction says why the settings of a server do not fit together; nil: they do.
func (s Server) contradiction() error {
	program := len(s.Args) > 0 || len(s.Env) > 0 || s.EnvFile != "" || s.Dir != ""
	switch {
	case s.Command == "" && s.URL == "":
		return errors.New("it has neither command nor url (give one of them)")
	case s.Command != "" && s.URL != "":
		return errors.New("it has both command and url (remove one of them)")
	case s.URL != "" && program:
		return errors.New("args, env, env_file and cwd are for a command, and it has a url (remove them)")
	case s.Command != "" && len(s.Headers) > 0:
		return errors.New("headers are for a url, and it has a command (remove them, or use env)")
	case !s.OAuth.ClientSecret.IsZero() && s.OAuth.ClientID == "":
		return errors.New("oauth.client_secret is of no client (add oauth.client_id)")
	}
	return nil
}

// resolver resolves the texts of one server, and keeps what was wrong.
type resolver struct {
	in    Surroundings
	errs  []error
	files []string
}

func (r *resolver) add(where string, err error) {
	r.errs = append(r.errs, fmt.Errorf("%s: %w", where, err))
}

func (r *resolver) text(where, text string) string {
	out, err := r.in.expand(text)
	if err != nil {
		r.add(where, err)
	}
	return out
}

func (r *resolver) path(where, text, base string) string {
	if text == "" {
		return ""
	}
	out, err := r.in.path(text, base)
	if err != nil {
		r.add(where, err)
	}
	return out
}

// command returns a program. A name without a slash is looked for in PATH when the program is
// started.
func (r *resolver) command(text, base string) string {
	if strings.ContainsFunc(text, func(c rune) bool { return c < 128 && os.IsPathSeparator(uint8(c)) }) {
		return r.path("command", text, base)
	}
	return r.text("command", text)
}

// environment returns the variables of a server. Those of env take precedence over those of
// env_file.
func (r *resolver) environment(s Server) []string {
	values := map[string]string{}
	if path := r.path("env_file", s.EnvFile, s.Base); path != "" {
		r.files = append(r.files, path)
		content, err := trusted.Read(path, maxEnvFile)
		if err == nil {
			values, err = parseEnvFile(string(content))
		}
		if err != nil {
			r.add("env_file", err)
		}
	}
	if values == nil {
		values = map[string]string{}
	}
	for _, v := range s.Env {
		values[v.Name] = r.variable("env", v)
	}
	var out []string
	for name, value := range values {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}

// variable returns the value of a variable or header. References are replaced in values that
// stand in the configuration; what another source has is taken as it is.
func (r *resolver) variable(where string, v Variable) string {
	if v.value != nil {
		return r.text(where+"."+v.Name, *v.value)
	}
	if v.FromFile != "" {
		r.files = append(r.files, v.FromFile)
	}
	value, err := v.Text(r.in.Lookup)
	if err != nil {
		r.add(where+"."+v.Name, err)
	}
	return value
}

func (r *resolver) url(text string) string {
	before := len(r.errs)
	out := r.text("url", text)
	if text == "" || len(r.errs) > before {
		return ""
	}
	u, err := url.Parse(out)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		r.add("url", errors.New("it is not a URL that begins with http:// or https://"))
	}
	return out
}
