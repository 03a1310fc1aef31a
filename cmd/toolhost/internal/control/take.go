package control

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Claim is the right to serve on a socket. It ends with the process, even if that is killed.
type Claim struct {
	path   string
	lock   *os.File
	socket fs.FileInfo // nil before [Claim.Listen]
}

// Take claims a socket for a daemon. It makes the directory of the socket, closed to other
// users, if it does not exist. Files that a killed daemon has left do not matter.
//
// # Errors
//
// [tool.CodeAlreadyExists] if another daemon has the socket, with a text that says which;
// [tool.CodePermissionDenied] if other users may write to its directory;
// [tool.CodeUnavailable] if the system refuses.
func Take(path string, self Holder) (*Claim, error) {
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	if err := makePrivate(filepath.Dir(path)); err != nil {
		return nil, err
	}
	lock, err := lockSocket(path)
	if err != nil {
		return nil, err
	}
	c := &Claim{path: path, lock: lock}
	text, err := json.Marshal(self)
	if err == nil {
		err = errors.Join(lock.Truncate(0), writeAt(lock, append(text, '\n')))
	}
	if err != nil {
		return nil, errors.Join(unavailable("the socket's lock cannot be written", err), c.Release())
	}
	return c, nil
}

func writeAt(f *os.File, text []byte) error {
	_, err := f.WriteAt(text, 0)
	return err
}

// makePrivate makes the directory of the socket, or checks the existing one.
func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return unavailable("the socket's directory cannot be made", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return unavailable("the socket's directory cannot be used", err)
	}
	owner := ownerOf(info)
	if owner != os.Geteuid() && owner != 0 || info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return tool.Errorf(tool.CodePermissionDenied, "other users may write to %s, so a socket there is not safe", dir).
			Try("chmod go-w " + dir + ", or name another socket with --socket")
	}
	return nil
}

// lockSocket gets the lock of a socket. Its holder removes the lock file: a file that was
// removed while this process opened it does not count.
func lockSocket(socket string) (*os.File, error) {
	path := lockPath(socket)
	for {
		f, _, err := safefile.Open(path, os.O_RDWR|os.O_CREATE)
		if err != nil {
			return nil, unavailable("the socket's lock cannot be opened", err)
		}
		err = safefile.Lock(f, safefile.Exclusive, time.Time{})
		if errors.Is(err, safefile.ErrLocked) {
			h := readHolder(f)
			return nil, errors.Join(heldError(socket, h), f.Close())
		}
		if err != nil {
			return nil, errors.Join(unavailable("the socket's lock cannot be taken", err), f.Close())
		}
		if there, _ := safefile.IsAt(path, f); !there {
			_ = f.Close()
			continue
		}
		if err := checkLock(f); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	}
}

// checkLock checks that a file that is about to be overwritten is the lock of a daemon: empty,
// or written by one.
func checkLock(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return unavailable("the socket's lock cannot be examined", err)
	}
	if info.Mode().IsRegular() && (info.Size() == 0 || readHolder(f).PID > 0) {
		return nil
	}
	return tool.Errorf(tool.CodeAlreadyExists, "%s exists and is not the lock of a daemon's socket", f.Name()).
		Try("move it away, or name another socket with --socket")
}

// isHeld reports whether a daemon has the lock of a socket. The next daemon may have it already.
func isHeld(socket string, pid int) bool {
	f, _, err := safefile.Open(lockPath(socket), os.O_RDONLY)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer func() { _ = f.Close() }()
	if readHolder(f).PID != pid {
		return false
	}
	err = safefile.Lock(f, safefile.Shared, time.Time{})
	return errors.Is(err, safefile.ErrLocked)
}

// readHolder returns an empty holder if the lock file does not say.
func readHolder(f *os.File) Holder {
	var h Holder
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 16<<10))
	if err == nil {
		_ = json.Unmarshal(text, &h) // the holder is only for people
	}
	return h
}

// Listen opens the socket, and closes connections of users who are not admitted. Until
// [Claim.Share], the system keeps users other than this one and root out. At most so many
// connections are open at a time, three quarters of them of one process; connections
// whose clients do not speak or do not read make room for more.
func (c *Claim) Listen(most int, admits func(uid int) bool, refused func(error)) (net.Listener, error) {
	if err := c.clear(); err != nil {
		return nil, err
	}
	ln, err := c.open()
	if err != nil {
		return nil, err
	}
	return newListener(ln, most, admits, refused), nil
}

func (c *Claim) open() (net.Listener, error) {
	ln, err := net.Listen("unix", c.path)
	if err != nil {
		return nil, unavailable("the socket cannot be opened", err)
	}
	// A process that connected before this is checked all the same.
	if err := c.Share(false); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	if c.socket, err = os.Lstat(c.path); err != nil {
		return nil, errors.Join(unavailable("the socket cannot be examined", err), ln.Close())
	}
	return ln, nil
}

// Share opens the socket to all users, so that those who are admitted can connect, or closes it
// to users other than this one and root.
func (c *Claim) Share(with bool) error {
	mode := fs.FileMode(0o600)
	if with {
		mode = 0o666
	}
	if err := os.Chmod(c.path, mode); err != nil {
		return unavailable("the mode of the socket cannot be changed", err)
	}
	return nil
}

// clear removes the socket of a daemon that was killed, and nothing else.
func (c *Claim) clear() error {
	info, err := os.Lstat(c.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return unavailable("the socket cannot be examined", err)
	case info.Mode().Type() != fs.ModeSocket:
		return tool.Errorf(tool.CodeAlreadyExists, "%s exists and is not a socket", c.path).
			Try("remove it, or name another socket with --socket")
	}
	// The lock says that no daemon serves there, unless its file was removed.
	if conn, err := net.DialTimeout("unix", c.path, time.Second); err == nil {
		_ = conn.Close()
		return heldError(c.path, Holder{})
	}
	if err := os.Remove(c.path); err != nil {
		return unavailable("the socket of an earlier daemon cannot be removed", err)
	}
	return nil
}

// Release gives the socket up. The listener, which removes it, has to be closed before.
func (c *Claim) Release() error {
	var err error
	if there, _ := safefile.IsAt(c.lock.Name(), c.lock); there { // otherwise another file has its name
		err = os.Remove(c.lock.Name())
	}
	return errors.Join(err, c.lock.Close())
}

func unavailable(what string, err error) error {
	return tool.Errorf(tool.CodeUnavailable, "%s: %w", what, err).Try("name another socket with --socket")
}

func ownerOf(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid)
	}
	return -1
}
