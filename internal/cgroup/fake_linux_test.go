package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// fakeKernel does to files in a temporary directory what the kernel does to a tree of version
// 2: few machines have its controllers and a cgroup to divide for tests.
type fakeKernel struct {
	attributes map[string]string // by path: "user.delegate" and the like
	refuses    string            // a file that cannot be written
}

// fakeFiles are those of a new group, by the controller that brings them.
var fakeFiles = map[string][]string{
	"":       {"cgroup.procs", "cgroup.controllers", "cgroup.subtree_control", "cgroup.type", "cgroup.kill"},
	"memory": {"memory.max", "memory.swap.max", "memory.events"},
	"cpu":    {"cpu.max", "cpu.stat"},
	"pids":   {"pids.max", "pids.events"},
}

func (k fakeKernel) mkdir(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	given := words(filepath.Join(filepath.Dir(path), "cgroup.subtree_control"))
	for controller, files := range fakeFiles {
		if controller != "" && !slices.Contains(given, controller) {
			continue
		}
		for _, name := range files {
			text := map[string]string{"cgroup.type": "domain", "cgroup.controllers": strings.Join(given, " ")}[name]
			if err := os.WriteFile(filepath.Join(path, name), []byte(text), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k fakeKernel) rmdir(path string) error {
	below, err := filepath.Glob(filepath.Join(path, "*", procs))
	if err != nil || !exists(path) {
		return os.ErrNotExist
	}
	if len(below) > 0 || len(words(filepath.Join(path, procs))) > 0 {
		return syscall.EBUSY
	}
	return os.RemoveAll(path)
}

func (k fakeKernel) write(path, text string) error {
	dir := filepath.Dir(path)
	inner := exists(filepath.Join(dir, "cgroup.type")) // not the root: processes or parts
	has := func(name string) bool { return len(words(filepath.Join(dir, name))) > 0 }
	switch filepath.Base(path) {
	case k.refuses:
		return syscall.ENOTSUP
	case procs:
		if inner && has("cgroup.subtree_control") {
			return syscall.EBUSY
		}
		own := strconv.Itoa(os.Getpid())
		for _, other := range []string{dir, filepath.Dir(dir), filepath.Join(dir, leaf)} {
			file := filepath.Join(other, procs)
			all := words(file)
			if i := slices.Index(all, own); i >= 0 {
				if err := os.WriteFile(file, []byte(strings.Join(slices.Delete(all, i, i+1), "\n")), 0o600); err != nil {
					return err
				}
			}
		}
		text = strings.Join(append(words(path), own), "\n")
	case "cgroup.subtree_control":
		if inner && has(procs) {
			return syscall.EBUSY
		}
		enabled := words(path)
		for _, order := range strings.Fields(text) {
			controller, on := strings.CutPrefix(order, "+")
			if !on || !slices.Contains(words(filepath.Join(dir, "cgroup.controllers")), controller) {
				return syscall.ENOENT
			}
			enabled = append(enabled, controller)
		}
		text = strings.Join(enabled, " ")
	case "cgroup.kill":
		if err := os.WriteFile(filepath.Join(dir, procs), nil, 0o600); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = f.WriteString(text)
	return err
}

func (k fakeKernel) attribute(path, name string) string { return k.attributes[path+":"+name] }

// fakeTree makes files below a temporary directory, which it returns. In their text, SELF is
// the number of this process.
func fakeTree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		text = strings.ReplaceAll(text, "SELF", strconv.Itoa(os.Getpid()))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root
}

// content is that of a file, without white space around it.
func content(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	assert.NoError(t, err)
	return strings.TrimSpace(string(text))
}
