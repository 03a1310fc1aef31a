package servers

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/internal/jsontree"
)

// transports are the types of servers, as files spell them.
var transports = map[string]config.Transport{
	"stdio": "", "sse": config.TransportSSE,
	"http": config.TransportHTTP, "streamable-http": config.TransportHTTP, "streamableHttp": config.TransportHTTP,
	"streamable_http": config.TransportHTTP,
}

// silent are keys that say nothing about how a server is reached or run.
var silent = map[string]bool{"description": true, "gallery": true, "version": true, "$schema": true}

// entry reads one server.
func (r *reader) entry(name string, v *hujson.Value) (config.Server, error) {
	s := r.base(name)
	s.Base = ""
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		return s, errors.New("the entry is not an object")
	}
	var errs []error
	seen := map[string]bool{}
	for i := range object.Members {
		m := &object.Members[i]
		key := nameOf(m)
		if seen[key] {
			errs = append(errs, fmt.Errorf("%s: it is there twice", shown(key)))
		}
		seen[key] = true
		known, err := set(&s, key, m.Value.Value)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", shown(key), err))
		case !known && !silent[key]:
			r.warn(&m.Name, "the server %s has an unknown key, which has no effect: %s", name, shown(key))
		}
	}
	return s, errors.Join(errs...)
}

// set sets what a key of an entry says; false: the key is not known.
func set(s *config.Server, key string, v hujson.ValueTrimmed) (known bool, err error) {
	switch key {
	case "command":
		s.Command, err = textOf(v)
	case "args":
		s.Args, err = textsOf(v)
	case "env":
		s.Env, err = variablesOf(v)
	case "envFile":
		s.EnvFile, err = textOf(v)
	case "cwd":
		s.Dir, err = textOf(v)
	case "url":
		var url string
		url, err = textOf(v)
		s.URL = config.Address(url)
	case "headers":
		s.Headers, err = variablesOf(v)
	case "type", "transport":
		var word string
		if word, err = textOf(v); err == nil {
			err = setTransport(s, word)
		}
	case "disabled", "enabled":
		var yes bool
		if yes, err = boolOf(v); err == nil {
			s.Enabled = s.Enabled && yes == (key == "enabled")
		}
	case "questions":
		err = setQuestions(s, v)
	case "oauth", "auth":
		err = setOAuth(s, v)
	default:
		return false, nil
	}
	return true, err
}

func setTransport(s *config.Server, word string) error {
	t, ok := transports[word]
	if !ok {
		return fmt.Errorf("%s is not supported (use stdio, http or sse)", shown(word))
	}
	if t != "" {
		s.Transport = t
	}
	return nil
}

// setQuestions reads what toolhost.yaml has as mcp_servers.NAME.questions.
func setQuestions(s *config.Server, v hujson.ValueTrimmed) error {
	text := hujson.Value{Value: v}
	text.Standardize()
	return jsontree.Strict(text.Pack(), &s.Questions)
}

// setOAuth reads the client of a login, as Claude Code and Cursor write it.
func setOAuth(s *config.Server, v hujson.ValueTrimmed) error {
	object, ok := v.(*hujson.Object)
	if !ok {
		return errors.New("it is not an object")
	}
	for i := range object.Members {
		m := &object.Members[i]
		var err error
		switch strings.ReplaceAll(strings.ToLower(nameOf(m)), "_", "") {
		case "clientid":
			s.OAuth.ClientID, err = textOf(m.Value.Value)
		case "scopes":
			s.OAuth.Scopes, err = textsOf(m.Value.Value)
		case "clientsecret":
			var secret string
			if secret, err = textOf(m.Value.Value); err == nil {
				s.OAuth.ClientSecret = config.Value(s.OAuth.ClientSecret.Name, secret)
			}
		case "callbackport":
			s.OAuth.Port, err = portOf(m.Value.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func textOf(v hujson.ValueTrimmed) (string, error) {
	if l, ok := v.(hujson.Literal); ok && l.Kind() == '"' {
		return l.String(), nil
	}
	return "", errors.New("it is not text (put it in quotes)")
}

func boolOf(v hujson.ValueTrimmed) (bool, error) {
	if l, ok := v.(hujson.Literal); ok && (l.Kind() == 't' || l.Kind() == 'f') {
		return l.Bool(), nil
	}
	return false, errors.New("it is neither true nor false")
}

func portOf(v hujson.ValueTrimmed) (int, error) {
	l, ok := v.(hujson.Literal)
	if ok && l.Int() > 0 && l.Int() <= math.MaxUint16 {
		return int(l.Int()), nil
	}
	return 0, errors.New("it is not a port")
}

func textsOf(v hujson.ValueTrimmed) ([]string, error) {
	list, ok := v.(*hujson.Array)
	if !ok {
		return nil, errors.New("it is not a list of texts")
	}
	out := make([]string, len(list.Elements))
	for i := range list.Elements {
		var err error
		if out[i], err = textOf(list.Elements[i].Value); err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return out, nil
}

// variablesOf reads an object of texts. A number or true is taken as its text, and null as if
// it were not there.
func variablesOf(v hujson.ValueTrimmed) (config.Environment, error) {
	object, ok := v.(*hujson.Object)
	if !ok {
		return nil, errors.New("it is not an object of texts")
	}
	var out config.Environment
	for i := range object.Members {
		m := &object.Members[i]
		l, ok := m.Value.Value.(hujson.Literal)
		switch name := nameOf(m); {
		case name == "" || strings.ContainsAny(name, "=\x00\r\n: "):
			return nil, fmt.Errorf("%q is not a name", shown(name))
		case !ok:
			return nil, fmt.Errorf("%s: it is not text (put it in quotes)", shown(name))
		case l.Kind() == 'n':
		default:
			out = out.With(config.Value(name, l.String()))
		}
	}
	return out, nil
}
