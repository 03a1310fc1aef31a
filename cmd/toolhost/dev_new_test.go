package main

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/scaffold"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/registrytest"
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
		{[]string{"sky", "--toolhost", "v0.1.0", "--ci", "gitlab"}, []string{`there is no workflow for "gitlab"`, "the services are github"}},
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

// What must not be published, and what is made, is nothing that git offers to commit.
func TestPluginNewIgnores(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	w := newWorld(t)
	for _, language := range scaffold.Languages() {
		name := "sky-" + string(language)
		args := []string{"dev", "new", name, "--lang", string(language)}
		if language == scaffold.Go {
			args = append(args, "--toolhost", "v0.1.0")
		}
		w.bare(args...).exits(0)
		dir := filepath.Join(w.root, name)
		git := func(args ...string) string {
			t.Helper()
			cmd := exec.CommandContext(t.Context(), "git", args...)
			cmd.Dir = dir
			return string(require.Must(cmd.Output())(t))
		}
		git("init", "-q")
		git("add", "-A")
		made := []string{"sky.tar", "toolhost.lock", "NOTES.md", "bin/sky", "dist/sky.tar"}
		switch language {
		case scaffold.Python:
			made = append(made, "build/__main__.py", "__pycache__/plugin.pyc")
		case scaffold.Node:
			made = append(made, "node_modules/x/index.js")
		}
		for _, file := range made {
			save(t, filepath.Join(dir, file), "made")
		}
		w.bare("dev", "keygen", filepath.Join(name, "sky.key"), "--no-password").exits(0).says("the secret key lies in the git work tree " + dir)
		equal(t, "what git offers", git("ls-files", "--others", "--exclude-standard"), "sky.pub\n")
	}
	o := w.bare("dev", "keygen", "sky.key", "--no-password").exits(0)
	equal(t, "what is said of a key elsewhere", o.stderr, "")
}

// step is one of a workflow of GitHub Actions.
type step struct {
	Name, Uses, Run, If string
	Env                 map[string]string
}

// The workflow of --ci github makes a release: its steps run, as they are, with a registry on loopback in
// place of ghcr.io. What another machine has to have is said in it.
func TestPluginNewWorkflow(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds and verifies a plugin")
	}
	w := newWorld(t)
	checkout := require.Must(filepath.Abs("../.."))(t)
	w.bare("dev", "new", "sky", "--toolhost", checkout, "--ci", "github").exits(0)
	dir := filepath.Join(w.root, "sky")
	platform := runtime.GOOS + "/" + runtime.GOARCH
	manifest := filepath.Join(dir, "plugin.yaml") // other platforms take minutes, and are the same to a package
	before, _, _ := strings.Cut(read(t, manifest), "binaries:")
	save(t, manifest, before+"binaries:\n  "+platform+": dist/sky-"+strings.ReplaceAll(platform, "/", "-")+"\n")

	server := httptest.NewServer(onlyFor("octo", "the token", registrytest.New(t)))
	t.Cleanup(server.Close)
	registry := strings.TrimPrefix(server.URL, "http://")
	var key struct{ Public, File string }
	w.bare("dev", "keygen", filepath.Join(t.TempDir(), "sky.key"), "--no-password", "--json").exits(0).json(&key)
	bin := t.TempDir()
	require.NoError(t, os.Symlink(filepath.Join(built.dir, "toolhost"), filepath.Join(bin, "toolhost")))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "docker"), []byte(dockerLogin), 0o700)) //nolint:gosec // a program
	env := append(slices.Clone(w.env), "PATH="+bin+":"+os.Getenv("PATH"), "MAKEFLAGS=PLATFORMS="+platform, "DOCKER_CONFIG="+t.TempDir(),
		"RUNNER_TEMP="+t.TempDir(), "GITHUB_ACTOR=octo", "GITHUB_REPOSITORY=Octo/Sky", "GITHUB_REF_NAME=v0.1.0")
	expressions := strings.NewReplacer("${{ secrets.PLUGIN_KEY }}", strings.TrimSpace(read(t, key.File)),
		"${{ secrets.PLUGIN_KEY_PASSWORD }}", "", "${{ github.token }}", "the token")

	text := read(t, filepath.Join(dir, ".github", "workflows", "release.yml"))
	if n := strings.Count(text, "\n"); n > 60 {
		t.Errorf("it has %d lines", n)
	}
	var workflow struct {
		Jobs map[string]struct{ Steps []step }
	}
	require.NoError(t, yaml.Unmarshal([]byte(text), &workflow))
	var ran []string
	for _, s := range workflow.Jobs["release"].Steps {
		if s.Name == "Install toolhost" { // TestGoInstall runs it
			equal(t, "the command that installs it", s.Run, "go install github.com/toolhost/toolhost/cmd/toolhost@v"+host.Version)
		} else if s.Run != "" {
			cmd := exec.CommandContext(t.Context(), "bash", "-e", "-c", strings.ReplaceAll(s.Run, "ghcr.io", registry))
			cmd.Dir, cmd.Env = dir, env
			for name, value := range s.Env {
				cmd.Env = append(cmd.Env, name+"="+expressions.Replace(value))
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", s.Name, err, out)
			}
			ran = append(ran, s.Name)
		}
	}
	equalLists(t, "the steps", ran, []string{"Test and verify", "Pack, sign and push"})
	w.write("trusting.yaml", "trust: {publishers: {acme: {keys: ["+key.Public+"], plugins: [sky]}}}\n")
	w.env = env // with the login
	w.bare("--config", "trusting.yaml", "dev", "inspect", "oci://"+registry+"/octo/sky:0.1.0").exits(0).prints("by acme", "sky.add")
}

// dockerLogin does what docker login does with a password.
const dockerLogin = `#!/bin/sh
test "$1 $3 $5" = "login --username --password-stdin"
auth=$(printf '%s:%s' "$4" "$(cat)" | base64)
printf '{"auths":{"%s":{"auth":"%s"}}}' "$2" "$auth" >"$DOCKER_CONFIG/config.json"
`
