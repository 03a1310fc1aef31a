// Package dev builds a plugin whenever its sources change, and serves what it built. Begin with
// [Find] and [Run].
package dev

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/wire"
)

// Project is a directory in which a plugin is built.
type Project struct {
	Dir  string   // absolute
	Name string   // of the plugin
	argv []string // builds it; none: nothing is built
	// output is the file that the command writes, absolute; empty: where the command is told to
	// write it, or the only executable in bin.
	output string
	goes   bool // the command is told where to write
	// running is where a plugin listens that its author started; nil: it is built.
	running *wire.Reattach
}

var buildTarget = lazy.Regexp(`(?m)^build\s*:([^=]|$)`)

const maxMakefile = 1 << 20

// Find finds out how the plugin in a directory is built: by argv, if there is one, else by make
// build, else by go build. Output is the file that the command writes; empty: as it is found.
//
// # Errors
//
// [*exit.Error] if the directory is not there, or nothing says how to build.
func Find(ctx context.Context, dir, output string, argv []string) (*Project, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, exit.With(exit.BadUsage, err)
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return nil, exit.Usage("there is no directory "+sanitize.Text(abs), "toolhost dev new NAME makes a project")
	}
	p := &Project{Dir: abs, argv: argv}
	if output != "" {
		if !filepath.IsAbs(output) {
			output = filepath.Join(abs, output)
		}
		p.output = filepath.Clean(output)
	}
	switch {
	case len(argv) > 0:
	case hasBuildTarget(abs):
		p.argv = []string{"make", "--no-print-directory", "build"}
	case isGo(abs):
		if err := p.isProgram(ctx); err != nil {
			return nil, err
		}
		p.argv, p.goes = []string{"go", "build"}, true
	case p.output == "":
		return nil, exit.Usage(fmt.Sprintf("nothing in %s says how to build a plugin: it has no Makefile with a target build and no Go package", sanitize.Text(abs)),
			"toolhost dev new NAME makes a project; or give the command: toolhost dev run "+sanitize.Text(dir)+" --output FILE -- COMMAND")
	}
	p.Name = nameFor(filepath.Base(abs))
	if p.output != "" {
		p.Name = nameFor(pluginrun.NameOf(filepath.Base(p.output)))
	}
	return p, nil
}

// nameFor returns a name for a plugin that is like the name of a file or a directory.
func nameFor(file string) string {
	name := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_.-", r) {
			return r
		}
		return '_'
	}, strings.TrimLeft(file, "_.-"))
	if name == "" {
		return "plugin"
	}
	return name[:min(len(name), 64)]
}

func hasBuildTarget(dir string) bool {
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(f, maxMakefile))
		_ = f.Close()
		if err == nil {
			return buildTarget().Match(text) // make takes the first of them, too
		}
	}
	return false
}

func isGo(dir string) bool {
	found, err := filepath.Glob(filepath.Join(escaped(dir), "*.go"))
	return err == nil && len(found) > 0
}

// escaped returns a path as a pattern of itself.
func escaped(path string) string {
	return regexp.MustCompile(`[\\*?\[]`).ReplaceAllString(path, `\$0`)
}

// isProgram refuses a Go package that is not a program. What does not compile yet is for the build
// to say.
func (p *Project) isProgram(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "list", "-e", "-f", "{{.Name}}", ".")
	cmd.Dir = p.Dir
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return exit.Usage("the plugin is a Go package, and there is no go in PATH", "install Go, or give another command after --")
	}
	if name := strings.TrimSpace(string(out)); err == nil && name != "" && name != "main" {
		return exit.Usage(fmt.Sprintf("the Go package in %s is %s, and a plugin is a package main", sanitize.Text(p.Dir), name),
			"name the directory of its main package")
	}
	return nil
}

// maxBuildOutput bounds what is shown of a build: its end.
const maxBuildOutput = 64 << 10

// buildWait is how long a build that was told to end may take to.
const buildWait = 5 * time.Second

// build builds the plugin, and returns its path. Scratch is a private directory for what is
// built there.
func (p *Project) build(ctx context.Context, scratch string) (built, said string, err error) {
	out := &tail{most: maxBuildOutput}
	if len(p.argv) > 0 {
		argv := p.argv
		if p.goes {
			built = filepath.Join(scratch, p.Name)
			argv = append(append([]string{}, argv...), "-o", built, ".")
		}
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) //nolint:gosec // the author's own command
		cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = p.Dir, out, out, buildWait
		inGroup(cmd)
		if err := cmd.Run(); err != nil {
			return "", out.String(), err
		}
	}
	switch {
	case p.output != "":
		built = p.output
	case built == "":
		if built, err = p.onlyProgram(); err != nil {
			return "", out.String(), err
		}
	}
	return built, out.String(), nil
}

// onlyProgram returns the program that a build has written to bin.
func (p *Project) onlyProgram() (string, error) {
	bin := filepath.Join(p.Dir, "bin")
	entries, err := os.ReadDir(bin)
	var found []string
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			found = append(found, filepath.Join(bin, e.Name()))
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	const hint = "say which file it writes, with --output FILE"
	if err != nil || len(found) == 0 {
		return "", exit.Usage("the build has written no executable to "+sanitize.Text(bin), hint)
	}
	return "", exit.Usage(fmt.Sprintf("the build has written %d executables to %s", len(found), sanitize.Text(bin)), hint)
}

// Command returns the command that builds, for people.
func (p *Project) Command() string { return strings.Join(p.argv, " ") }

// tail keeps the end of what is written to it.
type tail struct {
	buf  bytes.Buffer
	most int
	cut  bool
}

func (t *tail) Write(b []byte) (int, error) {
	t.buf.Write(b)
	if over := t.buf.Len() - t.most; over > 0 {
		t.buf.Next(over)
		t.cut = true
	}
	return len(b), nil
}

func (t *tail) String() string {
	text := strings.TrimRight(t.buf.String(), "\n")
	if t.cut {
		return "...\n" + text
	}
	return text
}
