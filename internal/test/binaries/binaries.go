// Package binaries builds the programs that tests run: [Build], from within a test.
//
// Go repeats a test whose result it has kept if what the test's process opened below the root of its
// module has changed; what a go build reads that the test starts it does not know. So Build opens
// all that a program is made of. In a test of another module, for which Go looks at none of that,
// the result must not be kept: go test -count=1.
package binaries

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
)

// Module is the path of the module that the packages of [Build] are in.
const Module = "github.com/toolhost/toolhost"

// Build builds programs and returns the directory that they are in, which others share: it is one
// for each checkout and set of flags, and no test writes to it ([Install]). A package is named by its
// path below the root of the module, such as "cmd/toolhost". Those of internal/test/others are built alone.
// GOFLAGS and CGO_ENABLED count: with -race and cgo the programs look for races, too. If there is a
// TOOLHOST_TEST_BINARIES, it is a directory that has them already.
func Build(t testing.TB, packages ...string) string {
	t.Helper()
	if built := os.Getenv("TOOLHOST_TEST_BINARIES"); built != "" {
		return built
	}
	key := fmt.Sprint(packages)
	mu.Lock()
	if builds[key] == nil {
		builds[key] = sync.OnceValues(func() (string, error) { return build(packages) })
	}
	once := builds[key]
	mu.Unlock()
	dir, err := once()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

var (
	mu     sync.Mutex
	builds = map[string]func() (string, error){}
)

// Install links, or copies where that is not possible, a program to a path.
func Install(t testing.TB, program, path string) {
	t.Helper()
	if os.Link(program, path) == nil {
		return
	}
	if err := Copy(program, path); err != nil {
		t.Fatal(err)
	}
}

// Copy copies a program. What this process forks meanwhile would have the copy open for writing,
// and then it could not be run.
func Copy(program, path string) error {
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, text, 0o755) //nolint:gosec // a program
}

// Sources has Go repeat a test that runs go list or the like when a file changes of these packages, or
// of those of the module that they import: patterns as of go list, from the root of the module.
func Sources(t testing.TB, patterns ...string) {
	t.Helper()
	root, err := Root()
	if err == nil {
		err = open(root, patterns)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func build(packages []string) (_ string, err error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	flags := os.Getenv("GOFLAGS")
	if os.Getenv("CGO_ENABLED") == "0" {
		flags = strings.ReplaceAll(flags, "-race", "") // the race detector is a library of C
	}
	key := sha256.Sum256(fmt.Append(nil, flags, os.Getenv("CGO_ENABLED"), os.Getenv("GOOS"), os.Getenv("GOARCH")))
	dir := filepath.Join(root, "bin", "test", fmt.Sprintf("%x", key[:4]))
	if err := os.MkdirAll(filepath.Join(dir, "go"), 0o755); err != nil { //nolint:gosec // another user runs some
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := safefile.Lock(lock, safefile.Exclusive, time.Now().Add(15*time.Minute)); err != nil {
		return "", fmt.Errorf("waiting for another test that builds into %s: %w", dir, err)
	}
	module, patterns := root, make([]string, 0, len(packages))
	for _, p := range packages {
		name, other := strings.CutPrefix(p, others)
		if other {
			module = filepath.Join(root, others)
		}
		patterns = append(patterns, "./"+name)
	}
	out := filepath.Join(dir, "go") + string(filepath.Separator)
	args := append([]string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", out}, patterns...)
	if _, err := run(module, append(os.Environ(), "GOFLAGS="+flags), args...); err != nil {
		return "", err
	}
	for _, p := range packages {
		if err := publish(filepath.Join(dir, "go", executable(p)), filepath.Join(dir, executable(p))); err != nil {
			return "", err
		}
	}
	return dir, open(module, patterns)
}

func executable(pkg string) string {
	name := filepath.Base(pkg)
	if filepath.Separator == '\\' {
		name += ".exe"
	}
	return name
}

// publish puts a program in its place if another one is there. The go command sets the times of what
// it finds up to date, and a host that runs a link to the file would see that as a change.
func publish(from, to string) error {
	if same(from, to) {
		return nil
	}
	if err := Copy(from, to+".new"); err != nil {
		return err
	}
	return os.Rename(to+".new", to)
}

// same reports whether what was built has the bytes of another file. To have all of them in memory
// would take longer than to read them.
func same(built, other string) bool {
	fd, err := syscall.Open(built, syscall.O_RDONLY|syscall.O_CLOEXEC, 0) // os.Open has Go repeat the test, as its time is new
	if err != nil {
		return false
	}
	a := os.NewFile(uintptr(fd), built)
	defer func() { _ = a.Close() }() // it is only read
	b, err := os.Open(other)
	if err != nil {
		return false
	}
	defer func() { _ = b.Close() }()
	of, its := make([]byte, 1<<17), make([]byte, 1<<17)
	for {
		n, errA := io.ReadFull(a, of)
		m, errB := io.ReadFull(b, its)
		if !bytes.Equal(of[:n], its[:m]) {
			return false
		}
		if errA != nil || errB != nil {
			return ended(errA) && ended(errB)
		}
	}
}

func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// open opens what these packages of a module are made of: the testing package notes it for the go command.
func open(root string, patterns []string) error {
	const each = `{{if .Module}}{{if .Module.Main}}{{.Dir}}{{range .EmbedFiles}}
{{$.Dir}}/{{.}}{{end}}{{end}}{{end}}`
	out, err := run(root, nil, append([]string{"list", "-deps", "-f", each}, patterns...)...)
	if err != nil {
		return err
	}
	for _, name := range append(strings.Fields(out), filepath.Join(root, "go.mod"), filepath.Join(root, "go.sum")) {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		_ = f.Close() // it was only read
	}
	return nil
}

func run(dir string, env []string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(context.Background(), "go", args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

// Root returns the root of the module, which is above the directory that the tests begin in.
var Root = sync.OnceValues(func() (string, error) {
	for dir := begin; ; dir = filepath.Dir(dir) {
		if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && strings.HasPrefix(string(text), "module "+Module+"\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not below the root of module %s: %w", begin, Module, io.EOF)
		}
	}
})

var begin, _ = os.Getwd()
