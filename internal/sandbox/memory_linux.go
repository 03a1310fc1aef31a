//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/safefile"
)

// memory is what was found, in this process or by an earlier one that left a note. A note says only that
// there is everything: who believes a false one has starts that fail, and then looks. What is missing is
// looked for by each process, since it may have come, and so is all that no process is needed for.
type memory struct {
	look func() (Features, error)

	mu       sync.Mutex
	dir      string // of the note; empty: there is none
	features *Features
	noted    bool // features are those of a note
	doubted  bool // notes do not count any more
}

// Detect returns what this system has. It tries each mechanism in a process of its own, once:
// whether a kernel has something does not tell whether a container or a security module lets
// this user use it. After [Remember] it may take the word of an earlier process for that, see [Doubt].
//
// # Errors
//
// Something cannot be found out for now, for want of what the system or this user has too little of.
// Then the features are those that need no namespaces, and the next call tries again.
var Detect = found.detect

var found = &memory{look: detect}

// Remember has a directory in which processes leave notes of what was found. The first one counts.
func Remember(dir string) {
	found.mu.Lock()
	defer found.mu.Unlock()
	if found.dir == "" {
		found.dir = dir
	}
}

// Doubt has [Detect] look for itself from now on, and reports whether it had taken the word of an earlier
// process until now: then what failed may succeed.
func Doubt() bool { return found.doubt() }

func (m *memory) doubt() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	noted := m.noted
	if noted {
		m.features, m.noted = nil, false
	}
	m.doubted = true
	return noted
}

func (m *memory) detect() (Features, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.features != nil {
		return *m.features, nil
	}
	var note, says string
	if m.dir != "" {
		note, says = filepath.Join(m.dir, "toolhost-sandbox"), surroundings()
	}
	if says != "" && !m.doubted && read(note) == says {
		all := everything()
		m.features, m.noted = &all, true
		return all, nil
	}
	f, err := m.look()
	if err != nil {
		return f, err
	}
	m.features = &f
	switch {
	case says == "":
	case f == everything():
		_ = safefile.Replace(note, []byte(says), 0o600) // else the next process looks
	case m.doubted:
		_ = os.Remove(note)
	}
	return f, nil
}

// everything is what a system has that lacks nothing. As the way to namespaces follows from the user, a note
// cannot name one that is weaker.
func everything() Features {
	f := simple()
	f.Stage, f.Mounts, f.Proc, f.Network = true, true, true, true
	f.Privileged = os.Geteuid() == 0
	f.User, f.Bounded = !f.Privileged, !f.Privileged
	return f
}

// read returns a note, unless another user can have written it; empty: there is none.
func read(path string) string {
	f, info, err := safefile.Open(path, os.O_RDONLY)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	var text [2 * sha256.Size]byte
	if n, err := f.Read(text[:]); err != nil || n < len(text) || info.Size() != int64(n) || !safefile.Private(info, 0o077) {
		return ""
	}
	return string(text[:])
}

// surroundings is a digest of what decides what this process may use: of this boot, the kernel, its limits and
// security modules, the process's user, rights and namespaces, and of this program; empty: that cannot be told.
func surroundings() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	status, statusErr := os.ReadFile("/proc/self/status")
	var program unix.Stat_t
	if err != nil || statusErr != nil || unix.Stat("/proc/self/exe", &program) != nil {
		return ""
	}
	h := sha256.New()
	_, _ = fmt.Fprintln(h, string(boot), program.Dev, program.Ino, program.Size, program.Mtim)
	for line := range bytes.Lines(status) {
		name, _, _ := bytes.Cut(line, []byte(":"))
		switch string(name) {
		case "Uid", "Gid", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Seccomp_filters":
			_, _ = h.Write(line)
		}
	}
	for _, kind := range []string{"cgroup", "ipc", "mnt", "net", "pid", "pid_for_children", "user", "uts"} {
		inode, err := os.Readlink("/proc/self/ns/" + kind)
		_, _ = fmt.Fprintln(h, inode, err)
	}
	for _, path := range []string{
		"/proc/sys/kernel/osrelease", "/proc/sys/kernel/version", "/proc/self/attr/current", "/sys/kernel/security/lsm",
		"/proc/sys/kernel/unprivileged_userns_clone", "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
		"/proc/sys/user/max_user_namespaces", "/proc/sys/user/max_pid_namespaces", "/proc/sys/user/max_mnt_namespaces",
		"/proc/sys/user/max_ipc_namespaces", "/proc/sys/user/max_net_namespaces",
	} {
		text, err := os.ReadFile(path)
		_, _ = fmt.Fprintf(h, "%q %v\n", text, err)
	}
	return hex.EncodeToString(h.Sum(nil))
}
