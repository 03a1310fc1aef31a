package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const secret = "hunter2-Zx9"

// Nothing that a configuration or its parts print shows a value.
func TestValuesAreNotShown(t *testing.T) {
	t.Parallel()
	c := parseOK(t, "defaults: {environment: {A: "+secret+"}}\nplugins: {p: {environment: {B: '"+secret+"', C: {from_env: HOME}}}}\n")
	env := c.Plugin("p").Environment
	if got, err := resolveAll(env, func(string) (string, bool) { return "home", true }); err != nil || !slices.Equal(got, []string{"A=" + secret, "B=" + secret, "C=home"}) {
		t.Fatalf("%v, %v", got, err)
	}
	hidden := struct{ c any }{*c} // fmt calls no methods of what it holds
	for _, v := range []any{c, *c, c.Plugin("p"), env, env[0], &env[0], hidden, map[string]any{"x": env}, Diff(c, Default())} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			if text := fmt.Sprintf(verb, v); strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%x", secret)) {
				t.Errorf("%s of %T: %s", verb, v, text)
			}
		}
		if text, err := json.Marshal(v); err != nil || strings.Contains(string(text), secret) {
			t.Errorf("%T as JSON: %s, %v", v, text, err)
		}
	}
	text, err := json.Marshal(env)
	if err != nil || string(text) != `{"A":"(hidden)","B":"(hidden)","C":{"from_env":"HOME"}}` {
		t.Errorf("%s, %v", text, err)
	}
	assert.Equal(t, fmt.Sprint(env), "[A=(hidden) B=(hidden) C=from the variable HOME]")
}

// No problem with a file shows a value, however broken the file is.
func TestProblemsShowNoValue(t *testing.T) {
	t.Parallel()
	for _, file := range []string{
		"plugins: {p: {environment: {1: " + secret + "}}}",
		"plugins: {p: {environmen: {A: " + secret + "}}}",
		"plugins:\n  p:\n    environmen:\n      A: " + secret + "\n    timout: 5\n",
		"plugins:\n  p:\n    environment:\n      A: [" + secret + "]\n",
		"plugins:\n  p:\n    environment:\n      A: {from_file: [" + secret + "]}\n",
		"plugins:\n  p:\n    environment:\n      A: \"" + secret + "\n",
		"plugins:\n  p:\n    environment:\n      A: '" + secret + "'x\n",
		"plugins:\n  p:\n    environment:\n      A: a: " + secret + "\n",
		"plugins:\n  p:\n    environment:\n      A: |\n        " + secret + ":\n       x\n      B: [\n",
		"plugins:\n  p:\n    environment:\n    - A: !x " + secret + "\n",
		"plugins:\n  p:\n    environment:\n    - " + secret + "\n",
		"plugins:\n  p:\n    environment: " + secret + "\n",
		"plugins:\n  p:\n    env:\n      A: \"" + secret + "\n",
		"plugins:\n  p:\n    envronmnt:\n      A: \"\\u" + secret + "\"\n",
		"plugins: {p: {\n\"environment\": {\n\"A\": \"" + secret + "\" \"x\"\n}}}",
		"plugins:\n  p:\n    environment:\n      A: x\n      A: " + secret + "\n",
		"plugins:\n  p:\n    environment:\n\n      # c\n      \"A\" : *" + secret + "\x01\n",
		"plugins:\n  p:\n    environment:\n      A: " + secret + "\xff\n",
		"plugins:\n  p:\n    environment:\n      A: >\n\n        x\n        " + secret + "\x02\n",
		"plugins:\n  p:\n    environment:\n      PLUGIN_A: " + secret + "\n      A-B: " + secret + "\n",
		"plugins: {p: {environment: {A:" + secret + "}}}",
	} {
		_, err := Parse("t.yaml", []byte(file))
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s\nis %v", file, err)
			continue
		}
		text, jsonErr := json.Marshal(e)
		if strings.Contains(err.Error(), secret) || strings.Contains(string(text), secret) || jsonErr != nil {
			t.Errorf("%s\n%v", file, err)
		}
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	write("token", secret+"\r\n")
	write("two", secret+"\n\n")
	write("nul", secret+"\x00")
	write("large", strings.Repeat(secret, maxValue))
	write("toolhost.yaml", `defaults: {environment: {Z: z, A: a}}
plugins:
  good: {environment: {T: {from_file: token}, U: {from_file: two}, E: {from_env: HERE}, A: "b=c\n"}}
  unset: {environment: {X: {from_env: NOT_HERE}}}
  missing: {environment: {X: {from_file: none}}}
  nul: {environment: {X: {from_file: nul}}}
  large: {environment: {X: {from_file: large}}}
  directory: {environment: {X: {from_file: .}}}
  long: {environment: {X: {from_env: LONG}}}
`)
	c := require.Must(Load(filepath.Join(dir, "toolhost.yaml")))(t)
	lookup := func(name string) (string, bool) {
		switch name {
		case "HERE":
			return "", true
		case "LONG":
			return strings.Repeat(secret, maxValue), true
		}
		return "", false
	}
	got, err := resolveAll(c.Plugin("good").Environment, lookup)
	if want := []string{"A=b=c\n", "E=", "T=" + secret, "U=" + secret + "\n", "Z=z"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	for name, want := range map[string]string{
		"unset": "X cannot be set: NOT_HERE is not set", "missing": "X cannot be set: there is no file " + filepath.Join(dir, "none"),
		"nul": "X cannot be set: its value has a NUL", "large": "more than 65536 bytes", "directory": "a directory", "long": "LONG has more than",
	} {
		got, err := resolveAll(c.Plugin(name).Environment, lookup)
		if got != nil || err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %.100q, %v, want %s", name, got, err, want)
		}
	}
	missing := parseOK(t, "plugins: {a: {environment: {X: {from_file: /nowhere/x}}}}").Plugin("a").Environment
	if _, err := resolveAll(missing, lookup); tool.CodeOf(err) != tool.CodeNotFound {
		t.Error("the code of a missing file is lost")
	}
}

func resolveAll(e Environment, lookup func(string) (string, bool)) (out []string, err error) {
	for _, v := range e {
		one, err := v.Resolve(lookup)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}
