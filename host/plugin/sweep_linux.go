package plugin

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Claim notes in a host's socket directory, of which the name begins with
// "toolhost-", that it is this process's, so that [Sweep] can tell when its owner
// is dead. Where the owner cannot be told, it does nothing.
func Claim(dir string) error {
	me, err := self()
	if err != nil {
		return nil //nolint:nilerr // then nobody sweeps either
	}
	return os.WriteFile(filepath.Join(dir, ownerFile), []byte(me.String()+"\n"), 0o600)
}

// Sweep ends processes of plugins whose host was killed and did not end them, and
// removes the socket directories that such hosts left in dir. It touches what is
// this user's, and says itself that it belongs to a host of this machine that is
// dead for certain; a host that lives loses nothing.
//
// It takes about a millisecond for each hundred processes of the machine.
func Sweep(dir string) Swept {
	me, err := self()
	if err != nil {
		return Swept{}
	}
	dead := map[string]bool{}
	return Swept{
		Processes: endProcesses(func(run string) bool {
			host, _, ok := strings.Cut(run, "/")
			if !ok {
				return false
			}
			is, known := dead[host]
			if !known {
				of, ok := parseIdentity(host)
				is = ok && of.isDead(me)
				dead[host] = is
			}
			return is
		}, time.Now().Add(endTime)),
		Directories: sweepDirectories(dir, me),
	}
}

func sweepDirectories(dir string, me identity) (n int) {
	entries, _ := os.ReadDir(dir) // as far as it can be read
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !strings.HasPrefix(e.Name(), directoryPrefix) || !isOurs(path) {
			continue
		}
		owner, ok := ownerOf(path)
		if ok && owner.isDead(me) && os.RemoveAll(path) == nil {
			n++
		}
	}
	return n
}

// isOurs reports whether a path is a directory, no link, of this user, that nobody
// else may touch.
func isOurs(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

func ownerOf(dir string) (identity, bool) {
	f, err := os.OpenFile(filepath.Join(dir, ownerFile), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return identity{}, false
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, 256))
	if err != nil {
		return identity{}, false
	}
	return parseIdentity(strings.TrimSpace(string(text)))
}
