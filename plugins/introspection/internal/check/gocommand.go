package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/tools/go/packages"

	"github.com/toolhost/toolhost/plugins/internal/source"
)

// goCommand runs the go command in a workspace. Every use of the command goes
// through it.
type goCommand struct {
	root     source.Root
	platform Platform
	alone    bool // without the go.work file above it
}

var errNoGo = errors.New("the Go toolchain is needed: `go` was not found on the plugin's PATH; " +
	"install Go or name PATH in the plugin's environment")

// toolchain tells toolchains and platforms apart: go.mod can name another one than that on PATH.
func (g goCommand) toolchain(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOVERSION", "GOFLAGS", "CGO_ENABLED")
	cmd.Dir, cmd.Env = string(g.root), g.environment()
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", errNoGo
	}
	if err != nil {
		return "", g.failed(ctx, err)
	}
	return g.platform.key() + "\n" + string(out), nil
}

// environment returns that of the go command.
func (g goCommand) environment() []string {
	out := append(os.Environ(), g.platform.environment()...)
	if g.alone {
		out = append(out, "GOWORK=off")
	}
	return out
}

func (g goCommand) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	text := err.Error()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		text += ": " + string(exit.Stderr)
	}
	return fmt.Errorf("the go command failed: %s", g.root.Scrub(text))
}

// load asks for packages, without their tests.
func (g goCommand) load(ctx context.Context, mode packages.LoadMode, patterns ...string) ([]*packages.Package, error) {
	return g.loadConfig(ctx, packages.Config{Mode: mode}, patterns)
}

func (g goCommand) loadConfig(
	ctx context.Context, config packages.Config, patterns []string,
) ([]*packages.Package, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, errNoGo
	}
	queries := make([]string, len(patterns))
	for i, p := range patterns {
		// The prefix keeps the loader from reading a query such as file=X into a
		// pattern. The go command gets it after "--", never as a flag.
		queries[i] = "pattern=" + p
	}
	config.Context, config.Dir, config.Env = ctx, string(g.root), g.environment()
	config.BuildFlags = g.platform.flags()
	config.ParseFile = source.ParseFile
	pkgs, err := packages.Load(&config, queries...)
	if err == nil {
		err = g.broken(pkgs)
	}
	if err != nil {
		return nil, g.failed(ctx, err)
	}
	return pkgs, nil
}

// broken returns an error of the system that kept the command from looking at a package, such as that of a cache
// in which it cannot write: it reports that as a fault of the package, which then seems to have no files.
func (g goCommand) broken(pkgs []*packages.Package) (err error) {
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			ofSystem := func(errno syscall.Errno) bool { return strings.HasSuffix(strings.TrimSpace(e.Msg), ": "+errno.Error()) }
			if slices.ContainsFunc(systemErrors, ofSystem) && !strings.Contains(e.Msg, string(g.root)+string(os.PathSeparator)) {
				err = errors.New(e.Msg)
			}
		}
	})
	return err
}

// systemErrors are those of a disk, of permissions and of a shortage.
var systemErrors = []syscall.Errno{
	syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT, syscall.EACCES, syscall.EPERM, syscall.EIO, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM,
}
