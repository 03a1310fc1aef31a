package confine

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/tree"
)

// ownerFile is the file in a host's socket directory that says whose it is.
const ownerFile = "owner"

// Claim notes in a socket directory, whose name begins with [DirPrefix], that it belongs
// to this process, so that [Sweep] can tell when its owner is dead. It does nothing if this
// process cannot be identified.
func Claim(dir string) error {
	me, err := self()
	if err != nil {
		return nil //nolint:nilerr // then nothing is swept either
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return errors.Join(noteOwner(root, me), root.Close())
}

func noteOwner(dir *os.Root, o owner) error {
	f, err := dir.OpenFile(ownerFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(o.String() + "\n")
	return errors.Join(err, f.Close())
}

// Sweep ends the plugin processes of hosts that were killed and could not do so, and
// removes the socket directories that such hosts left in dir, until ctx ends. It touches
// only what belongs to this user, or for root to any, and says that it belongs to a host of this
// machine that is certainly dead; a living host loses nothing.
//
// It takes about a millisecond for each hundred processes of the machine. A directory that
// cannot be removed within a second, perhaps because it keeps growing, is left to the next sweep.
func Sweep(ctx context.Context, dir string) Swept {
	me, err := self()
	if err != nil {
		return Swept{}
	}
	dead := map[string]bool{} // by owner
	orphaned := func(p Process) bool {
		if b := p.brand(); b.isForeign() && p.isHere() && b.isOfDead() {
			return !p.isZombie()
		}
		text, ok := ownerIn(p.Environ())
		if !ok {
			return false
		}
		is, known := dead[text]
		if !known {
			host, ok := parseOwner(text)
			is = ok && host.isDead(me)
			dead[text] = is
		}
		return is
	}
	return Swept{
		Processes:   endAll(orphaned),
		Directories: sweepDirectories(ctx, dir, me),
	}
}

// Left reports whether a host that is certainly dead left its directory in dir, as one that was killed does
// if nothing removes it. It takes far less time than [Sweep].
func Left(ctx context.Context, dir string) bool {
	me, err := self()
	if err != nil {
		return false
	}
	found := false
	eachDirectory(ctx, dir, func(path string) bool {
		_, _, found = leftBy(path, me)
		return !found
	})
	return found
}

// leftBy returns the dead host that made a directory; false: none did.
func leftBy(path string, me owner) (made fs.FileInfo, by owner, ok bool) {
	made, err := os.Lstat(path)
	if err != nil || !made.IsDir() || !safefile.Private(made, 0o077) {
		return nil, owner{}, false
	}
	by, ok = ownerOf(path, made)
	return made, by, ok && by.isDead(me)
}

// sweepTime bounds the removal of one directory.
const sweepTime = time.Second

// sweepDirectories removes what dead hosts left in a directory for temporary files.
func sweepDirectories(ctx context.Context, dir string, me owner) (n int) {
	eachDirectory(ctx, dir, func(path string) bool {
		if sweepDirectory(ctx, path, me) {
			n++
		}
		return true
	})
	return n
}

// eachDirectory visits what is named as hosts name their directories, until visit returns false. It reads a
// few entries at a time, as there may be very many.
func eachDirectory(ctx context.Context, dir string, visit func(path string) bool) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	for ctx.Err() == nil {
		entries, err := f.ReadDir(256)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), DirPrefix) && !visit(filepath.Join(dir, e.Name())) {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// sweepDirectory removes a directory if a dead host made it, and reports whether it is gone.
func sweepDirectory(ctx context.Context, path string, me owner) bool {
	made, owner, ok := leftBy(path, me)
	if !ok {
		return false
	}
	dir, err := os.OpenRoot(path)
	if err != nil {
		return false
	}
	defer func() { _ = dir.Close() }()
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	if err := tree.Remove(ctx, path, made); err != nil {
		// The note may be gone, and without it nothing removes the rest.
		if now, err := dir.Stat("."); err == nil && os.SameFile(now, made) {
			_ = noteOwner(dir, owner) // it is there still
		}
		return false
	}
	return true
}

// ownerOf returns the owner that [Claim] noted in a directory; false: there is none.
func ownerOf(path string, made fs.FileInfo) (owner, bool) {
	dir, err := os.OpenRoot(path)
	if err != nil {
		return owner{}, false
	}
	defer func() { _ = dir.Close() }()
	if opened, err := dir.Stat("."); err != nil || !os.SameFile(opened, made) {
		return owner{}, false
	}
	f, err := dir.OpenFile(ownerFile, os.O_RDONLY|safefile.NoFollow, 0)
	if err != nil {
		return owner{}, false
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || !safefile.Private(info, 0o077) {
		return owner{}, false
	}
	text, err := io.ReadAll(io.LimitReader(f, 256))
	if err != nil {
		return owner{}, false
	}
	return parseOwner(strings.TrimSpace(string(text)))
}
