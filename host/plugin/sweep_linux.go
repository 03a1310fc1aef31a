package plugin

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/internal/tree"
)

// Claim notes in a host's socket directory, of which the name begins with
// [DirectoryPrefix], that it is this process's, so that [Sweep] can tell when its owner
// is dead. Where the owner cannot be told, it does nothing.
func Claim(dir string) error {
	me, err := self()
	if err != nil {
		return nil //nolint:nilerr // then nobody sweeps either
	}
	f, err := os.OpenFile(filepath.Join(dir, ownerFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(me.String() + "\n")
	return errors.Join(err, f.Close())
}

// Sweep ends processes of plugins whose host was killed and did not end them, and
// removes the socket directories that such hosts left in dir, until its context ends. It
// touches what is this user's, and says itself that it belongs to a host of this machine
// that is dead for certain; a host that lives loses nothing.
//
// It takes about a millisecond for each hundred processes of the machine. A directory
// that cannot be removed in a quarter of a second, as it grows meanwhile, is left.
func Sweep(ctx context.Context, dir string) Swept {
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
		Directories: sweepDirectories(ctx, dir, me),
	}
}

// sweepTime bounds the removal of one directory.
const sweepTime = 250 * time.Millisecond

// sweepDirectories looks at a directory for temporary files a few entries at a time: it
// may have very many.
func sweepDirectories(ctx context.Context, dir string, me identity) (n int) {
	f, err := os.Open(dir)
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	for ctx.Err() == nil {
		entries, err := f.ReadDir(256)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), DirectoryPrefix) && sweepDirectory(ctx, filepath.Join(dir, e.Name()), me) {
				n++
			}
		}
		if err != nil {
			break
		}
	}
	return n
}

// sweepDirectory removes a directory if a host that is dead made it, and reports whether
// it is gone.
func sweepDirectory(ctx context.Context, path string, me identity) bool {
	made, err := os.Lstat(path)
	if err != nil || !made.IsDir() || !isOurs(made) {
		return false
	}
	if owner, ok := ownerOf(path, made); !ok || !owner.isDead(me) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	return tree.Remove(ctx, path, made) == nil
}

// isOurs reports whether a file is this user's, and nobody else may touch it.
func isOurs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o077 == 0
}

// ownerOf is what the file in a directory says that [Claim] makes; false: there is none.
func ownerOf(path string, made fs.FileInfo) (identity, bool) {
	dir, err := os.OpenRoot(path)
	if err != nil {
		return identity{}, false
	}
	defer func() { _ = dir.Close() }()
	if opened, err := dir.Stat("."); err != nil || !os.SameFile(opened, made) {
		return identity{}, false
	}
	f, err := dir.OpenFile(ownerFile, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return identity{}, false
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || !isOurs(info) {
		return identity{}, false
	}
	text, err := io.ReadAll(io.LimitReader(f, 256))
	if err != nil {
		return identity{}, false
	}
	return parseIdentity(strings.TrimSpace(string(text)))
}
