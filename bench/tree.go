package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// modVariable names the go.mod with which this program was compiled in the place of its own.
const modVariable = "TOOLHOST_BENCH_MOD"

// inTree runs this program again, compiled with toolhost as it is in another directory.
func inTree(ctx context.Context, tree string, args []string, out, progress io.Writer) error {
	dir, err := os.MkdirTemp("", "toolhost-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	mod, binary := filepath.Join(dir, "tree.mod"), filepath.Join(dir, "bench")
	for from, to := range map[string]string{"go.mod": mod, "go.sum": filepath.Join(dir, "tree.sum")} {
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(to, []byte(strings.Replace(string(text), "toolhost => ..", "toolhost => "+tree, 1)), 0o600); err != nil {
			return err
		}
	}
	if _, err := execute(ctx, ".", nil, "go", "build", "-mod=mod", "-modfile", mod, "-o", binary, "."); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), modVariable+"="+mod)
	cmd.Stdout, cmd.Stderr = out, progress
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd.Run()
}

// goCommand runs go in the tree that is measured.
func (b *bench) goCommand(ctx context.Context, args ...string) (string, error) {
	return execute(ctx, b.tree, nil, "go", args...)
}

// buildChildren makes the programs of this module.
func (b *bench) buildChildren(ctx context.Context) error {
	args := []string{"build", "-o", b.binary("") + string(filepath.Separator)}
	if mod := os.Getenv(modVariable); mod != "" {
		args = append(args, "-mod=mod", "-modfile", mod)
	}
	_, err := execute(ctx, ".", nil, "go", append(args, "./child/...")...)
	return err
}
