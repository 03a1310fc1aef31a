package cgroup

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// Lines of /proc/self/mountinfo.
const (
	mountV2     = "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	mountHybrid = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	mountMemory = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	mountCPU    = "36 31 0:33 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	mountPIDs   = "39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
	mountNamed  = "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
	noCgroup    = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
)

// unified is a cgroup of version 2 with these processes and controllers.
func unified(dir, processes, controllers string) map[string]string {
	return map[string]string{
		dir + "/cgroup.procs": processes, dir + "/cgroup.controllers": controllers,
		dir + "/cgroup.subtree_control": "", dir + "/cgroup.type": "domain\n",
	}
}

func join(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

const unit = "sys/fs/cgroup/system.slice/toolhost.service"

func TestFind(t *testing.T) {
	t.Parallel()
	service := unified(unit, "SELF\n", "cpuset cpu io memory pids")
	root := unified("sys/fs/cgroup", "1\nSELF\n", "cpu memory pids")
	delete(root, "sys/fs/cgroup/cgroup.type")
	v1 := map[string]string{
		"sys/fs/cgroup/memory/one/cgroup.procs": "1\nSELF\n", "sys/fs/cgroup/pids/cgroup.procs": "1\nSELF\n",
		"sys/fs/cgroup/cpu,cpuacct/two/cgroup.procs": "1\nSELF\n", "sys/fs/cgroup/systemd/three.scope/cgroup.procs": "SELF\n",
	}
	const v1Lines = "9:name=systemd:/\n4:memory:/one\n3:cpu,cpuacct:/two\n8:pids:/\n"
	const none = "cannot be bounded: "
	every := func(by string) [3]string { return [3]string{by, by, by} }
	for name, test := range map[string]struct {
		cgroup, mounts string
		files          map[string]string
		attribute      string    // of which directory, :name
		want           [3]string // of memory, cpu and pids: what does it, or a part of the error
		dirs           [3]string // where
	}{
		"a service with Delegate=yes": {
			cgroup: "0::/system.slice/toolhost.service\n", mounts: noCgroup + mountV2, files: service,
			attribute: unit + ":user.delegate", want: every("cgroup v2"), dirs: every(unit),
		},
		"a service with Delegate=yes of root, before systemd 251": {
			cgroup: "0::/system.slice/toolhost.service\n", mounts: mountV2, files: service,
			attribute: unit + ":trusted.delegate", want: every("cgroup v2"), dirs: every(unit),
		},
		"a service without it": {
			cgroup: "0::/system.slice/toolhost.service\n", mounts: mountV2, files: service,
			want: every(none + "the cgroup ROOT/" + unit + " was not handed to toolhost"),
		},
		"a service with Delegate=pids": {
			cgroup: "0::/system.slice/toolhost.service\n", mounts: mountV2, files: unified(unit, "SELF", "pids"),
			attribute: unit + ":user.delegate",
			want:      [3]string{"was not given the controller memory", "was not given the controller cpu", "cgroup v2"},
		},
		"a host that has divided its cgroup": {
			cgroup: "0::/system.slice/toolhost.service/toolhost-host\n", mounts: mountV2,
			files:     join(unified(unit, "", "cpu memory pids"), unified(unit+"/toolhost-host", "1\nSELF", "")),
			attribute: unit + ":user.delegate", want: every("cgroup v2"), dirs: every(unit),
		},
		"a plugin of such a host": {
			cgroup: "0::/system.slice/toolhost.service/toolhost-1.2.3.4-5-fs\n", mounts: mountV2,
			files:     join(unified(unit, "", "cpu memory pids"), unified(unit+"/toolhost-1.2.3.4-5-fs", "SELF", "cpu memory pids")),
			attribute: unit + ":user.delegate", want: every("was not handed to toolhost"),
		},
		"another process in the cgroup": {
			cgroup: "0::/system.slice/toolhost.service\n", mounts: mountV2, files: unified(unit, "1\nSELF", "cpu memory pids"),
			attribute: unit + ":user.delegate", want: every("process 1 ("),
		},
		"a container with a namespace of its own": {
			cgroup: "0::/\n", mounts: mountV2, files: unified("sys/fs/cgroup", "SELF\n", "cpu memory pids"),
			want: every("cgroup v2"), dirs: every("sys/fs/cgroup"),
		},
		"a container with a shell": {
			cgroup: "0::/\n", mounts: mountV2, files: unified("sys/fs/cgroup", "0\nSELF\n", "cpu memory pids"),
			want: every("process of another PID namespace is in the cgroup"),
		},
		"a container that sees its own cgroup": {
			cgroup: "0::/docker/c0ffee\n", mounts: strings.Replace(mountV2, " / ", " /docker/c0ffee ", 1),
			files: unified("sys/fs/cgroup", "SELF\n", "cpu memory pids"), want: every("cgroup v2"), dirs: every("sys/fs/cgroup"),
		},
		"the root of a machine without a manager": {
			cgroup: "0::/\n", mounts: mountV2, files: root, want: every("cgroup v2"), dirs: every("sys/fs/cgroup"),
		},
		"a cgroup above the namespace": {
			cgroup: "0::/..\n", mounts: mountV2, files: root, want: every("the cgroup /.. of this process is not mounted"),
		},
		"a mount from above the namespace": {
			cgroup: "0::/\n", mounts: strings.Replace(mountV2, " / ", " /.. ", 1), files: root, want: every("is not mounted"),
		},
		"a cgroup elsewhere": {
			cgroup: "0::/other\n", mounts: strings.Replace(mountV2, " / ", " /docker ", 1), files: root, want: every("is not mounted"),
		},
		"a mount point with a space": {
			cgroup: "0::/\n", mounts: strings.Replace(mountV2, "/sys/fs/cgroup", `/a\040b`, 1),
			files: unified("a b", "SELF\n", "cpu memory pids"), want: every("cgroup v2"), dirs: every("a b"),
		},
		"nothing mounted": {cgroup: "0::/\n", mounts: noCgroup, want: every("is not mounted")},
		"no cgroups":      {cgroup: "", mounts: noCgroup, want: every("this process is in no cgroup")},
		"malformed":       {cgroup: "memory\n", mounts: mountV2, files: root, want: every(`has the line "memory\n"`)},
		"no mountinfo":    {cgroup: "0::/\n", want: every("mountinfo")},
		"version 1, with different paths": {
			cgroup: v1Lines, mounts: mountMemory + mountCPU + mountPIDs + mountNamed, files: v1, want: every("cgroup v1"),
			dirs: [3]string{"sys/fs/cgroup/memory/one", "sys/fs/cgroup/cpu,cpuacct/two", "sys/fs/cgroup/pids"},
		},
		"version 1 without memory": {
			cgroup: "3:cpu,cpuacct:/two\n8:pids:/\n", mounts: mountCPU + mountPIDs, files: v1,
			want: [3]string{"this process is in no cgroup", "cgroup v1", "cgroup v1"},
		},
		"version 1 in a container": {
			cgroup: "8:pids:/docker/c0ffee\n4:memory:/docker/c0ffee\n", mounts: strings.Replace(mountPIDs, " / ", " /docker/c0ffee ", 1),
			files: v1, want: [3]string{"the cgroup /docker/c0ffee of this process is not mounted", "in no cgroup with this controller", "cgroup v1"},
		},
		"version 1 in a session of systemd": {
			cgroup: strings.Replace(v1Lines, "systemd:/", "systemd:/three.scope", 1), files: v1,
			mounts: mountMemory + mountCPU + mountPIDs + mountNamed, want: every("three.scope was not handed to toolhost"),
		},
		"version 1 in a service with Delegate=yes": {
			cgroup: strings.Replace(v1Lines, "systemd:/", "systemd:/three.scope", 1), files: v1,
			mounts:    mountMemory + mountCPU + mountPIDs + mountNamed,
			attribute: "sys/fs/cgroup/systemd/three.scope:trusted.delegate", want: every("cgroup v1"),
		},
		"hybrid": {
			cgroup: "4:memory:/one\n8:pids:/\n0::/\n", mounts: mountMemory + mountPIDs + mountHybrid,
			files: join(v1, unified("sys/fs/cgroup/unified", "SELF\n", "cpu")),
			want:  [3]string{"cgroup v1", "cgroup v2", "cgroup v1"},
			dirs:  [3]string{"sys/fs/cgroup/memory/one", "sys/fs/cgroup/unified", "sys/fs/cgroup/pids"},
		},
		"hybrid without controllers": {
			cgroup: "4:memory:/one\n8:pids:/\n0::/\n", mounts: mountMemory + mountPIDs + mountHybrid,
			files: join(v1, unified("sys/fs/cgroup/unified", "SELF\n", "")),
			want:  [3]string{"cgroup v1", "was not given the controller cpu", "cgroup v1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"proc/self/cgroup": test.cgroup}
			if test.mounts != "" {
				files["proc/self/mountinfo"] = test.mounts
			}
			root := fakeTree(t, join(files, test.files))
			tree := findIn(root, fakeKernel{attributes: map[string]string{filepath.Join(root, test.attribute): "1"}})
			for i, limit := range All {
				by, err := tree.By(limit)
				said := by
				if err != nil {
					said = err.Error()
				}
				if want := strings.Replace(test.want[i], "ROOT", root, 1); by != want && (err == nil || !strings.Contains(said, want)) {
					t.Errorf("%s: %q, want %q", limit, said, want)
				}
				if dir, _ := filepath.Rel(root, tree.parents[limit].dir); test.dirs[i] != "" && dir != test.dirs[i] {
					t.Errorf("%s is in %s, want %s", limit, dir, test.dirs[i])
				}
			}
		})
	}
}

// fakeService is a service with Delegate=yes, and its cgroup.
func fakeService(t *testing.T, refuses string) (tree *Tree, dir string) {
	t.Helper()
	root := fakeTree(t, join(unified(unit, "SELF\n", "cpu io memory pids"), map[string]string{
		"proc/self/cgroup": "0::/system.slice/toolhost.service\n", "proc/self/mountinfo": mountV2,
	}))
	dir = filepath.Join(root, unit)
	return findIn(root, fakeKernel{map[string]string{dir + ":user.delegate": "1"}, refuses}), dir
}

func TestUnifiedGroup(t *testing.T) {
	t.Parallel()
	tree, dir := fakeService(t, "")
	g := require.Must(tree.Create("fs/../x", Limits{Memory: 512 << 20, CPU: 0.5, PIDs: 100}))(t)
	if got := g.Enforces(); !slices.Equal(got, All) || len(g.Procs()) != 1 {
		t.Fatalf("enforces %v, in %v", got, g.Procs())
	}
	own := filepath.Dir(g.Procs()[0])
	if filepath.Dir(own) != dir || !strings.HasSuffix(own, "-fs____x") {
		t.Error("the group is", own)
	}
	for file, want := range map[string]string{
		"cgroup.procs": "", "cgroup.subtree_control": "cpu memory pids",
	} {
		assert.Equalf(t, content(t, dir, file), want, "%s", file)
	}
	if pids, err := numbers(filepath.Join(dir, leaf)); err != nil || !slices.Equal(pids, []int{os.Getpid()}) {
		t.Error("in the leaf are", pids, err)
	}
	for file, want := range map[string]string{
		"memory.max": "536870912", "memory.swap.max": "0", "cpu.max": "50000 100000", "pids.max": "100",
	} {
		assert.Equalf(t, content(t, own, file), want, "%s", file)
	}
	if e := g.Exceeded(); e != (Exceeded{}) || g.Usage() != (Usage{}) {
		t.Errorf("exceeded: %+v", e)
	}
	for file, text := range map[string]string{
		"memory.events":  "low 0\nhigh 0\nmax 92\noom 1\noom_kill 2\noom_group_kill 0\n",
		"pids.events":    "max 3\n",
		"cpu.stat":       "usage_usec 9\nnr_throttled 1\nthrottled_usec 1500000\n",
		"memory.current": "5000\n", "memory.peak": "7000\n", "memory.stat": "anon 900\ninactive_file 4000\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(own, file), []byte(text), 0o600))
	}
	if e := g.Exceeded(); e != (Exceeded{Memory: 2, PIDs: 3, Throttled: 1500 * time.Millisecond}) {
		t.Errorf("exceeded: %+v", e)
	}
	if u := g.Usage(); u != (Usage{CPU: 9 * time.Microsecond, Memory: 1000, Peak: 7000}) {
		t.Errorf("usage: %+v", u)
	}
	second, err := tree.Create("second", Limits{PIDs: 5})
	if err != nil || content(t, filepath.Dir(second.Procs()[0]), "memory.max") != "" {
		t.Error("the second:", err)
	}
	for _, g := range []*Group{second, g} {
		if err := g.Close(); err != nil || exists(g.Procs()[0]) {
			t.Error("after Close:", err)
		}
	}
}

// What cannot be done in full is not done: this process is again in its old cgroup.
func TestUnifiedIsDividedOrNot(t *testing.T) {
	t.Parallel()
	for name, refuses := range map[string]string{"the controllers": "cgroup.subtree_control", "the limit": "memory.max"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree, dir := fakeService(t, refuses)
			g, err := tree.Create("fs", Limits{Memory: 1 << 30})
			if g != nil || err == nil || !strings.Contains(err.Error(), "the limits of fs cannot be set: ") {
				t.Error(g, err)
			}
			own := filepath.Join(dir, leaf)
			if refuses == "cgroup.subtree_control" {
				own = dir
			}
			if pids, err := numbers(own); err != nil || !slices.Equal(pids, []int{os.Getpid()}) {
				t.Error("in", own, "are", pids, err)
			}
			if groups, err := filepath.Glob(filepath.Join(dir, "toolhost-*.*")); err != nil || len(groups) > 0 {
				t.Error("left:", groups, err)
			}
			if refuses == "cgroup.subtree_control" && exists(filepath.Join(dir, leaf)) {
				t.Error("the leaf is left")
			}
		})
	}
}

// A process that has come since the tree was found is not moved, and nothing else is done.
func TestUnifiedWithAnother(t *testing.T) {
	t.Parallel()
	tree, dir := fakeService(t, "")
	processes := content(t, dir, procs) + "\n1\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, procs), []byte(processes), 0o600))
	if _, err := tree.Create("fs", Limits{PIDs: 9}); err == nil || !strings.Contains(err.Error(), "process 1 (") {
		t.Error(err)
	}
	if got := content(t, dir, procs) + "\n"; got != processes || exists(filepath.Join(dir, leaf)) {
		t.Errorf("the processes are %q", got)
	}
}

// One group holds controllers of version 1 that share a hierarchy.
func TestSharedHierarchy(t *testing.T) {
	t.Parallel()
	root := fakeTree(t, map[string]string{
		"proc/self/cgroup":      "3:cpu,cpuacct,memory:/\n",
		"proc/self/mountinfo":   "36 31 0:33 / /cg rw - cgroup cgroup rw,cpu,cpuacct,memory\n",
		"cg/cgroup.procs":       "1\nSELF\n",
		"cg/memory.oom_control": "oom_kill_disable 1\n",
	})
	k := &recorder{}
	g, err := findIn(root, k).Create("fs", Limits{Memory: 1 << 20, CPU: 2, PIDs: 7})
	if err != nil || !slices.Equal(g.Enforces(), []Limit{Memory, CPU}) || len(g.Procs()) != 1 {
		t.Fatal(g, err)
	}
	want := []string{
		"mkdir", "memory.limit_in_bytes 1048576", "memory.memsw.limit_in_bytes 1048576", "memory.swappiness 0",
		"memory.oom_control 0", "cpu.cfs_period_us 100000", "cpu.cfs_quota_us 200000",
	}
	assert.EqualSlicesf(t, k.done, want, "done")
}

// recorder is a kernel that does nothing and has no swap to count.
type recorder struct{ done []string }

func (r *recorder) mkdir(string) error              { r.done = append(r.done, "mkdir"); return nil }
func (r *recorder) rmdir(string) error              { return os.ErrNotExist }
func (r *recorder) attribute(string, string) string { return "" }
func (r *recorder) write(path, text string) error {
	r.done = append(r.done, filepath.Base(path)+" "+text)
	if strings.Contains(path, "memsw") {
		return os.ErrNotExist
	}
	return nil
}

func TestHandedTo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		user, own, above int
		want             bool
	}{
		{1000, 1000, 0, true},     // User= and Delegate=yes
		{1000, 1000, 1000, false}, // a scope of the user's own systemd
		{1000, 0, 0, false},       // a session
		{0, 0, 0, false},
		{0, 0, 1000, false},
	} {
		assert.Equalf(t, handedTo(test.user, test.own, test.above), test.want, "%+v", test)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for _, bad := range []Limits{{Memory: -1}, {PIDs: -1}, {CPU: -0.5}, {CPU: 0.001}, {CPU: 1e9}, {CPU: math.NaN()}} {
		if g, err := Find().Create("bad", bad); err == nil {
			t.Errorf("%+v is taken: %v", bad, g.Close())
		}
	}
	g, err := Find().Create("none", Limits{})
	if err != nil || len(g.Procs())+len(g.Enforces()) > 0 || g.Exceeded() != (Exceeded{}) || g.Kill() != nil || g.Close() != nil {
		t.Error(g, err)
	}
}
