package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/scaffold"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A project is written with what it takes, and the next steps are said. Internal/test/languages
// builds, tests and runs projects.
func TestPluginNew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	checkout := require.Must(filepath.Abs("../.."))(t)
	for _, language := range scaffold.Languages() {
		args := []string{"dev", "new", "sky-" + string(language), "--lang", string(language)}
		if language == scaffold.Go {
			args = append(args, "--toolhost", checkout)
		}
		var made newProjectJSON
		w.bare(append(args, "--json")...).exits(0).json(&made)
		if made.Language != language || filepath.Base(made.Dir) != made.Name || !slices.Contains(made.Files, "plugin.yaml") {
			t.Errorf("%+v", made)
		}
		if (made.SDK != nil) != (language == scaffold.Go) {
			t.Errorf("the SDK of a plugin in %s is %v", language, made.SDK)
		}
		for _, f := range made.Files {
			if info, err := os.Stat(filepath.Join(made.Dir, f)); err != nil || info.Size() == 0 {
				t.Errorf("%s: %v", f, err)
			}
		}
		w.bare(args...).exits(2).says("sky-"+string(language)+" exists and is not an empty directory", "choose another name")
	}
	w.bare("dev", "new", "sky", "--toolhost", "v0.1.0").exits(0).prints("wrote sky", "cd sky\n", "call sky.add")
	if text, err := os.ReadFile(filepath.Join(w.root, "sky", "go.mod")); err != nil || strings.Contains(string(text), "replace") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestPluginNewUsage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		args []string
		says []string
	}{
		{nil, []string{"needs the name of the plugin"}},
		{[]string{"a", "b"}, []string{"takes one name, not 2"}},
		{[]string{""}, []string{"the name of the plugin is empty"}},
		{[]string{"My Plugin"}, []string{`"My Plugin" is not the name of a plugin`, "did you mean my-plugin?"}},
		{[]string{"../x"}, []string{`"../x" is not the name of a plugin`}},
		{[]string{"--", "-x"}, []string{`"-x" is not the name of a plugin`}},
		{[]string{"sky", "--lang", "pyton"}, []string{`in "pyton"`, "did you mean python?"}},
		{[]string{"sky", "--lang", "cobol"}, []string{`in "cobol"`, "the languages are go, python, node"}},
		{[]string{"sky", "--lang", "node", "--toolhost", "."}, []string{"--toolhost is for plugins in Go"}},
		{[]string{"sky", "--toolhost", "nowhere"}, []string{"the SDK is not there", "a published version, such as v0.1.0"}},
	} {
		w.bare(append([]string{"dev", "new"}, c.args...)...).exits(2).says(c.says...)
	}
	w.bare("dev", "new", "sky").exits(2).says("built from a source tree that is not known", "--toolhost names") // the tests' binary
	if left, err := os.ReadDir(w.root); err != nil || len(left) > 0 {
		t.Errorf("the directory has %v, %v", left, err)
	}
	w.bare("__complete", "dev", "new", "--lang", "").exits(0).prints("go\npython\nnode\n")
}
