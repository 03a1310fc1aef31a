package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/test/require"
)

// This uses version 2 as it is on this machine, which may have no controllers: the rest is
// shown with a fake one. A process in a cgroup that is marked as systemd marks one finds it,
// divides it or leaves it as it was, and kills a group.
func TestUnified(t *testing.T) {
	t.Parallel()
	tree := Find()
	if tree.unified.dir == "" {
		t.Skip("there is no cgroup of version 2")
	}
	if err := writable(tree.unified.dir); err != nil {
		t.Skip(err)
	}
	name, err := confine.NewName(t.Name())
	if err != nil {
		t.Skip(err)
	}
	service := filepath.Join(tree.unified.dir, name)
	require.NoError(t, os.Mkdir(service, 0o700))
	t.Cleanup(func() {
		g := Group{kernel: realKernel{}, parts: []part{{dir: service, v2: true}}}
		if err := g.Close(); err != nil || exists(service) {
			t.Error(err)
		}
	})
	if err := unix.Setxattr(service, "user.delegate", []byte("1"), 0); err != nil {
		t.Skip("it cannot be marked:", err)
	}
	cmd := command("divides")
	files, done, err := (&Group{parts: []part{{dir: service, v2: true}}}).Enter(cmd.SysProcAttr)
	if err != nil || len(files) > 0 || !cmd.SysProcAttr.UseCgroupFD {
		t.Fatal("it would have to join by", files, err)
	}
	defer done()
	c := start(t, cmd)
	for said := c.line(); said != "done"; said = c.line() {
		if said == "" {
			t.Fatal("it ended early:", c.Wait())
		}
		t.Error(said)
	}
}

// divideOwn is the service of [TestUnified].
func divideOwn() {
	check := func(ok bool, about ...any) {
		if !ok {
			say(strings.ReplaceAll(fmt.Sprint(about...), "\n", " "))
		}
	}
	tree := Find()
	check(strings.Contains(tree.unified.dir, "TestUnified") && tree.inside && delegated(tree.unified, realKernel{}), "found:", tree.unified)

	// The cgroup has no controller, so this fails, after the move.
	tree.parents = map[Limit]parent{"hugetlb": {dir: tree.unified.dir, v2: true}}
	err := tree.divide()
	check(errors.Is(err, os.ErrNotExist), "divided:", err)
	own := func(dir string) bool {
		pids, err := numbers(dir)
		return err == nil && slices.Equal(pids, []int{os.Getpid()})
	}
	check(own(tree.unified.dir) && !exists(filepath.Join(tree.unified.dir, leaf)), "it is not as it was")

	// As after a division.
	host := filepath.Join(tree.unified.dir, leaf)
	check(os.Mkdir(host, 0o700) == nil && tree.kernel.write(filepath.Join(host, procs), "0") == nil && own(host), "it is not in the leaf")
	again := Find()
	check(again.unified.dir == tree.unified.dir && !again.inside, "found again:", again.unified)

	// A group whose processes end at once.
	g := Group{kernel: realKernel{}, parts: []part{{dir: filepath.Join(tree.unified.dir, "group"), v2: true}}}
	check(g.kernel.mkdir(g.parts[0].dir) == nil, "there is no group")
	var ended []func() error
	for range 3 {
		cmd := command("waits", g.Procs()...)
		stdin, err1 := cmd.StdinPipe()
		stdout, err2 := cmd.StdoutPipe()
		err3 := cmd.Start()
		check(errors.Join(err1, err2, err3) == nil, err1, err2, err3)
		_, err := stdout.Read(make([]byte, 9))
		check(err == nil, err)
		ended = append(ended, func() error { defer func() { _ = stdin.Close() }(); return cmd.Wait() })
	}
	pids, err := numbers(g.parts[0].dir)
	check(len(pids) == 3, "in the group are", pids, err)
	g.parts[0].stop(realKernel{})
	for _, wait := range ended {
		err := wait()
		check(err != nil && err.Error() == "signal: killed", "it ended with", err)
	}
	err = g.Close()
	check(err == nil && !exists(g.parts[0].dir), "after Close:", err)
	say("done")
}
