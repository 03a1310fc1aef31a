//go:build linux && (amd64 || arm64)

package sandbox

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/stage"
)

// system is what every process may read. Nothing in it is a secret, and no program starts
// without some of it.
var system = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/etc/crypto-policies",
	"/etc/localtime", "/etc/timezone", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/resolv.conf",
	"/etc/host.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols", "/etc/mime.types", "/etc/alternatives", "/etc/os-release",
	"/etc/terminfo", "/etc/gitconfig", "/etc/magic",
}

// devices is what every process may use of /dev.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// tmpSize bounds /tmp if nothing else does.
const tmpSize = 64 << 20

// mountPoints are directories one of which every system has.
var mountPoints = []string{"/tmp", "/run", "/mnt", "/proc"}

const oldRoot = "/.old"

// Attributes of mounts.
const (
	readOnly = unix.MOUNT_ATTR_RDONLY
	harmless = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
)

// setAttributes sets and unsets attributes of a mount and all below it.
func setAttributes(p *stage.Program, what, path string, set, unset uint64) {
	attr := p.Struct(set, unset, uint64(0), uint64(0))
	p.Call(what, unix.SYS_MOUNT_SETATTR, atCWD, p.Text(path), unix.AT_RECURSIVE, attr, unix.MOUNT_ATTR_SIZE_VER0)
}

func bind(p *stage.Program, what, from, to string) {
	p.Call(what, unix.SYS_MOUNT, p.Text(from), p.Text(to), 0, unix.MS_BIND|unix.MS_REC, 0)
}

func mountTmp(p *stage.Program, what, path string, size int64, mode string) {
	options := fmt.Sprintf("size=%d,mode=%s", size, mode)
	p.Call(what, unix.SYS_MOUNT, p.Text("tmpfs"), p.Text(path), p.Text("tmpfs"), unix.MS_NOSUID|unix.MS_NODEV, p.Text(options))
}

func mountProc(p *stage.Program) {
	p.Call("mount /proc", unix.SYS_MOUNT, p.Text("proc"), p.Text("/proc"), p.Text("proc"), unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, 0)
}

// newView gives the process its view of the files: all of them with some of them closed, or
// those alone that it was granted.
func newView(p *stage.Program, f Features, of Profile, at files, granted bool) {
	p.Call("keep mounts to itself", unix.SYS_MOUNT, 0, p.Text("/"), 0, unix.MS_REC|unix.MS_SLAVE, 0)
	if granted {
		makeRoot(p, f, of, at)
	} else {
		closeFiles(p, f, of)
	}
}

// closeFiles leaves the files where they are, and closes what is protected and hidden.
func closeFiles(p *stage.Program, f Features, of Profile) {
	if !of.Write.Any {
		writable := slices.DeleteFunc(writable(of), func(path string) bool { return !exists(path) })
		for _, path := range writable {
			bind(p, "keep "+path+" writable", path, path)
		}
		if exists(shared) {
			mountTmp(p, "mount "+shared, shared, cmp.Or(of.Limits.Disk, tmpSize), "1777")
		}
		setAttributes(p, "make the files read-only", "/", readOnly, 0)
		if exists(shared) {
			setAttributes(p, "keep "+shared+" writable", shared, 0, readOnly)
		}
		for _, path := range writable {
			setAttributes(p, "keep "+path+" writable", path, 0, readOnly)
		}
	}
	if of.ownProc(f, wholeView) {
		mountProc(p)
	}
	closeSystem(p)
	closePaths(p, of)
}

// closePaths closes what is protected and hidden, as far as it exists and is visible.
func closePaths(p *stage.Program, of Profile) {
	var protected []string
	for _, path := range of.Protected {
		hidden := slices.ContainsFunc(of.Hidden, func(dir string) bool { return within(dir, path) })
		info, err := os.Lstat(path)
		switch {
		case err != nil || hidden:
		case info.Mode().Type() == fs.ModeSocket:
			if of.sees(path) { // that it cannot be written keeps no one from connecting
				bind(p, "close "+path, os.DevNull, path)
			}
		case of.writes(path):
			protected = append(protected, path)
		}
	}
	for _, dir := range of.above(protected) { // as a mount, it cannot be renamed
		bind(p, "keep "+dir+" in its place", dir, dir)
	}
	for _, path := range protected {
		bind(p, "protect "+path, path, path)
		setAttributes(p, "protect "+path, path, readOnly, 0)
	}
	for _, path := range of.Hidden {
		if exists(path) && of.sees(path) {
			hide(p, path, of.Sockets, of.Program, of.Script, of.Cache)
			if of.Cache != "" && within(path, of.Cache) && of.writes(of.Cache) {
				setAttributes(p, "keep "+of.Cache+" writable", of.Cache, 0, readOnly)
			}
		}
	}
}

// hide makes a directory look empty, but for what the process has of its own in it.
func hide(p *stage.Program, path string, own ...string) {
	cover(p, path, own...)
	seal(p, path)
}

// seal makes one mount read-only.
func seal(p *stage.Program, path string) {
	attr := p.Struct(uint64(readOnly), uint64(0), uint64(0), uint64(0))
	p.Call("hide "+path, unix.SYS_MOUNT_SETATTR, atCWD, p.Text(path), 0, attr, unix.MOUNT_ATTR_SIZE_VER0)
}

// cover mounts a directory that has what the process has of its own in another, over that.
func cover(p *stage.Program, path string, own ...string) {
	what := "hide " + path
	reach := map[string]int{}
	directories := map[string]bool{}
	for _, at := range own {
		if at == path || !within(path, at) {
			continue
		}
		if info, err := os.Stat(at); err == nil {
			open(p, what, at, unix.O_PATH)
			reach[at], directories[at] = p.Keep(), info.IsDir()
		}
	}
	mountTmp(p, what, path, 1<<16, "755")
	for at, fd := range reach {
		for dir := path; dir != filepath.Dir(at); {
			next, _, _ := strings.Cut(strings.TrimPrefix(at[len(dir):], "/"), "/")
			dir = filepath.Join(dir, next)
			p.Try(0, unix.SYS_MKDIRAT, atCWD, p.Text(dir), 0o755)
		}
		if directories[at] {
			p.Try(0, unix.SYS_MKDIRAT, atCWD, p.Text(at), 0o755)
		} else {
			p.Try(1, unix.SYS_OPENAT, atCWD, p.Text(at), unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
			p.Call(what, unix.SYS_CLOSE, uintptr(p.Free()))
		}
		bind(p, what, fmt.Sprintf("/proc/self/fd/%d", fd), at)
	}
}

// writable returns what can be changed besides what is made for the process.
func writable(of Profile) []string {
	list := slices.Clone(of.Write.List)
	if of.Sockets != "" {
		list = append(list, of.Sockets)
	}
	return list
}

// tree is a granted tree of files.
type tree struct {
	path  string
	write bool
	file  bool
}

// makeRoot makes a root of its own, in memory, in which only what was granted is mounted, at
// its own paths.
func makeRoot(p *stage.Program, f Features, of Profile, at files) {
	base := mountPoints[slices.IndexFunc(mountPoints, exists)]
	mountTmp(p, "make a root", base, 1<<20, "755")
	p.Call("make a root", unix.SYS_MKDIRAT, atCWD, p.Text(base+oldRoot), 0o700)
	p.Call("enter the root", unix.SYS_PIVOT_ROOT, p.Text(base), p.Text(base+oldRoot))
	p.Call("enter the root", unix.SYS_CHDIR, p.Text("/"))

	v := &root{program: p, files: at, made: map[string]bool{"/": true}, links: map[string]string{}}
	size := cmp.Or(of.Limits.Disk, tmpSize)
	for path, mode := range map[string]string{"/tmp": "1777", shared: "1777"} {
		v.directory(path)
		mountTmp(p, "mount "+path, path, size, mode)
	}
	for _, path := range system {
		v.grant(path, false)
	}
	for _, path := range of.Read.List {
		v.grant(path, false)
	}
	for _, path := range of.Exec.List {
		v.grant(path, false)
	}
	for _, path := range writable(of) {
		v.grant(path, true)
	}
	for _, path := range []string{of.Program, of.Script} {
		if path != "" {
			v.grant(path, false)
		}
	}
	for _, path := range devices {
		v.grant(path, true)
	}
	begins := of.Dir != "" && !of.sees(of.Dir) // there the process begins, and can leave nothing
	if begins {
		v.directory(of.Dir)
		mountTmp(p, "mount "+of.Dir, of.Dir, 4096, "755")
	}
	v.mount(of) // also in it
	v.directory("/proc")
	if f.Proc {
		mountProc(p)
		if f.Landlock == 0 { // which refuses it
			closeSettings(p, "/proc")
		}
	} else { // where it leads to the process itself, too
		bind(p, "mount /proc", oldRoot+"/proc", "/proc")
		setAttributes(p, "mount /proc", "/proc", harmless|readOnly|unix.MOUNT_ATTR_NOEXEC, 0)
	}
	closeKernelFiles(p)
	for name, target := range map[string]string{"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"} {
		v.links["/dev/"+name] = "/proc/self/fd" + target
	}
	for _, at := range slices.Sorted(maps.Keys(v.links)) {
		v.directory(filepath.Dir(at))
		p.Try(0, unix.SYS_SYMLINKAT, p.Text(v.links[at]), atCWD, p.Text(at))
	}
	p.Call("leave the old root", unix.SYS_UMOUNT2, p.Text(oldRoot), unix.MNT_DETACH)
	p.Try(0, unix.SYS_UNLINKAT, atCWD, p.Text(oldRoot), unix.AT_REMOVEDIR)
	attr := p.Struct(uint64(readOnly|harmless), uint64(0), uint64(0), uint64(0))
	if begins { // unless it is in a tree of the system, and so not that mount
		p.Try(0, unix.SYS_MOUNT_SETATTR, atCWD, p.Text(of.Dir), 0, attr, unix.MOUNT_ATTR_SIZE_VER0)
	}
	p.Call("close the root", unix.SYS_MOUNT_SETATTR, atCWD, p.Text("/"), 0, attr, unix.MOUNT_ATTR_SIZE_VER0)
	closePaths(p, of)
}

// root is a root that is being made.
type root struct {
	program *stage.Program
	files   files
	trees   []tree
	made    map[string]bool   // directories that are there
	links   map[string]string // symbolic links, by where they are
}

// grant adds a path with the links that lead to it. What does not exist is left out.
func (v *root) grant(path string, write bool) {
	at, mode, err := v.files.follow(path, func(at, target string) { v.links[at] = target })
	if err == nil {
		v.trees = append(v.trees, tree{path: at, write: write, file: !mode.IsDir()})
	}
}

// mount mounts the trees, those that contain others first.
func (v *root) mount(of Profile) {
	slices.SortStableFunc(v.trees, func(a, b tree) int { return cmp.Compare(a.path, b.path) })
	var mounted []tree
	for i, t := range v.trees {
		if i > 0 && v.trees[i-1].path == t.path {
			continue // the ones that write are looked for below
		}
		for _, same := range v.trees[i+1:] {
			if same.path == t.path {
				t.write = t.write || same.write
			}
		}
		around := tree{write: true} // the innermost
		for _, m := range mounted {
			if within(m.path, t.path) {
				around = m
			}
		}
		if !t.write && !around.write {
			continue // it is there, as it should be
		}
		v.mountTree(t, of)
		mounted = append(mounted, t)
	}
	for at := range v.links {
		if slices.ContainsFunc(v.trees, func(t tree) bool { return !t.file && within(t.path, at) }) {
			delete(v.links, at)
		}
	}
}

func (v *root) mountTree(t tree, of Profile) {
	p, what := v.program, "mount "+t.path
	if t.file {
		v.directory(filepath.Dir(t.path))
		p.Try(0, unix.SYS_MKNODAT, atCWD, p.Text(t.path), unix.S_IFREG|0o600, 0)
	} else {
		v.directory(t.path)
	}
	bind(p, what, oldRoot+t.path, t.path)
	var set, unset uint64 = harmless | readOnly, 0
	if slices.Contains(devices, t.path) {
		set = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
	} else if t.write {
		set, unset = harmless, 0
		if !of.Exec.Any && !slices.ContainsFunc(of.Exec.List, func(e string) bool { return within(t.path, e) || within(e, t.path) }) {
			set |= unix.MOUNT_ATTR_NOEXEC // what it writes is not what it runs
		}
	}
	setAttributes(p, what, t.path, set, unset)
}

// directory makes a directory and those above it.
func (v *root) directory(path string) {
	if v.made[path] {
		return
	}
	v.directory(filepath.Dir(path))
	v.made[path] = true
	v.program.Try(0, unix.SYS_MKDIRAT, atCWD, v.program.Text(path), 0o755)
}
