// Package marked opens directories that toolhost has made for itself in directories that
// others may use too, such as caches. Each is private and has a marker, and all that is read,
// written or removed in it goes through an open handle, so that nothing of another's is
// touched. Begin with [Open].
package marked

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/toolhost/toolhost/internal/safefile"
)

// The marker says that toolhost made the directory. It is a cache directory tag
// (https://bford.info/cachedir/), by which backup programs know what to leave out.
const (
	// MarkerName is the marker's.
	MarkerName = "CACHEDIR.TAG"
	marker     = "Signature: 8a477f597d28d172789f06886806bc55\n" +
		"# toolhost made this directory, and removes from it the files that it has written.\n"
)

// ErrUnsafe is the cause if a directory is not used because another user could write what
// this host would read in it.
var ErrUnsafe = errors.New("the directory is not private")

// ErrForeign is the cause if a directory is not used because toolhost did not make it, so
// that what is in it may be a person's only copy.
var ErrForeign = errors.New("toolhost did not make it")

// Dir is a marked directory. Everything that is read, written or removed in it goes
// through its open handle: what replaces it at its path is not touched.
type Dir struct {
	Above string // the directory that it is in, an absolute path
	Name  string // in that
	root  atomic.Pointer[os.Root]
}

// Open opens a directory of this name, or makes it, marked, if it is not there.
//
// # Errors
//
// [ErrUnsafe] if it, or the directory above, belongs to another user or others may write to
// it; [ErrForeign] if there is something of that name that toolhost did not make; plain
// errors if it cannot be made.
func Open(above, name string) (*Dir, error) {
	abs, err := filepath.Abs(above)
	if err != nil {
		return nil, err
	}
	d := &Dir{Above: abs, Name: name}
	return d, d.open()
}

// Path returns the directory's path.
func (d *Dir) Path() string { return filepath.Join(d.Above, d.Name) }

// Root returns the open directory.
func (d *Dir) Root() *os.Root { return d.root.Load() }

func (d *Dir) open() error {
	if err := os.MkdirAll(d.Above, 0o700); err != nil {
		return err
	}
	base, err := os.OpenRoot(d.Above)
	if err != nil {
		return err
	}
	defer func() { _ = base.Close() }()
	info, err := base.Stat(".")
	if err != nil {
		return err
	}
	if !safefile.Private(info, noWriting) {
		return notPrivate(d.Above)
	}
	own, err := openMarked(base, d.Above, d.Name)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeMarked(base, d.Name); err != nil && !errors.Is(err, fs.ErrExist) { // else another process was faster
			return err
		}
		own, err = openMarked(base, d.Above, d.Name)
	}
	if err != nil {
		return err
	}
	if before := d.root.Swap(own); before != nil {
		return before.Close()
	}
	return nil
}

// openMarked opens the directory if it is a directory, no link, private, and marked.
func openMarked(base *os.Root, above, name string) (_ *os.Root, err error) {
	path := filepath.Join(above, name)
	info, err := base.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory: %w", path, ErrForeign)
	}
	if !safefile.Private(info, noWriting) {
		return nil, notPrivate(path)
	}
	own, err := base.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = own.Close()
		}
	}()
	opened, err := own.Stat(".")
	if err != nil {
		return nil, err
	}
	text, err := ReadPrivate(own, MarkerName, int64(len(marker)))
	if errors.Is(err, fs.ErrNotExist) && isEmpty(own) { // its content was removed by hand
		text, err = []byte(marker), writeSynced(own, MarkerName, marker)
	}
	if err != nil || string(text) != marker || !os.SameFile(info, opened) {
		return nil, fmt.Errorf("%s does not have the %s that toolhost writes: %w", path, MarkerName, ErrForeign)
	}
	return own, nil
}

func isEmpty(dir *os.Root) bool {
	f, err := dir.Open(".")
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	_, err = f.ReadDir(1)
	return errors.Is(err, io.EOF)
}

// makeMarked makes the directory. It gets its name only when it has the marker, so that a
// process that is killed in between does not leave one without.
func makeMarked(base *os.Root, name string) error {
	temp := "." + name + Temporary + rand.Text()
	if err := base.Mkdir(temp, 0o700); err != nil {
		return err
	}
	inside := filepath.Join(temp, MarkerName)
	err := writeSynced(base, inside, marker)
	if err == nil {
		err = base.Rename(temp, name)
	}
	if err != nil {
		_, _ = base.Remove(inside), base.Remove(temp)
	}
	return err
}

// writeSynced makes a file that a power cut does not tear.
func writeSynced(dir *os.Root, name, text string) error {
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}

func notPrivate(dir string) error {
	return fmt.Errorf("%s belongs to another user, or others may write to it: %w", dir, ErrUnsafe)
}

// Reopen reports whether an error means that the directory was removed while it was open, and
// it could be made again.
func (d *Dir) Reopen(err error) bool { return errors.Is(err, fs.ErrNotExist) && d.open() == nil }

// Close closes the directory.
func (d *Dir) Close() error { return d.root.Load().Close() }

// noWriting are the permissions that other users, root aside, must not have.
const noWriting = 0o022

// ReadPrivate returns the content of a regular file of at most so many bytes that no other
// user could have written.
func ReadPrivate(root *os.Root, name string, most int64) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|safefile.NoFollow, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || !safefile.Private(info, noWriting) || info.Size() > most {
		return nil, ErrDamaged
	}
	content := make([]byte, info.Size())
	_, err = io.ReadFull(f, content)
	return content, err
}

// ErrDamaged is the error of a file that is not as toolhost wrote it.
var ErrDamaged = errors.New("the file is damaged")

// Temporary begins the names of files that are being written.
const Temporary = ".new-"
