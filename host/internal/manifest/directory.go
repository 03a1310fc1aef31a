package manifest

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

// directoryName is the directory of this package in a directory for caches. No other
// program is likely to use the name, and the marker says that none does.
const directoryName = "toolhost-manifests"

// The marker says that toolhost made the directory. It is a cache directory tag
// (https://bford.info/cachedir/), by which backup programs know what to leave out.
const (
	markerName = "CACHEDIR.TAG"
	marker     = "Signature: 8a477f597d28d172789f06886806bc55\n" +
		"# toolhost made this directory, and removes from it the files that it has written.\n"
)

// ErrUnsafe is the cause if a directory is not used because another user could write what
// this host would read in it.
var ErrUnsafe = errors.New("the directory is not private")

// ErrForeign is the cause if a directory is not used because toolhost did not make it, so
// that what is in it may be a person's only copy.
var ErrForeign = errors.New("toolhost did not make it")

// directory is the marked directory. Everything that is read, written or removed in it goes
// through its open handle: what replaces it at its path is not touched.
type directory struct {
	above string // the directory for caches, an absolute path
	root  atomic.Pointer[os.Root]
}

// openDirectory opens the directory, or makes it, marked, if it is not there.
func openDirectory(above string) (*directory, error) {
	d := &directory{above: above}
	return d, d.open()
}

func (d *directory) open() error {
	if err := os.MkdirAll(d.above, 0o700); err != nil {
		return err
	}
	base, err := os.OpenRoot(d.above)
	if err != nil {
		return err
	}
	defer func() { _ = base.Close() }()
	info, err := base.Stat(".")
	if err != nil {
		return err
	}
	if !safefile.Private(info, noWriting) {
		return notPrivate(d.above)
	}
	own, err := openMarked(base, d.above)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeMarked(base); err != nil && !errors.Is(err, fs.ErrExist) { // else another process was faster
			return err
		}
		own, err = openMarked(base, d.above)
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
func openMarked(base *os.Root, above string) (_ *os.Root, err error) {
	path := filepath.Join(above, directoryName)
	info, err := base.Lstat(directoryName)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory: %w", path, ErrForeign)
	}
	if !safefile.Private(info, noWriting) {
		return nil, notPrivate(path)
	}
	own, err := base.OpenRoot(directoryName)
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
	text, err := readPrivate(own, markerName, int64(len(marker)))
	if errors.Is(err, fs.ErrNotExist) && isEmpty(own) { // its content was removed by hand
		text, err = []byte(marker), writeSynced(own, markerName, marker)
	}
	if err != nil || string(text) != marker || !os.SameFile(info, opened) {
		return nil, fmt.Errorf("%s does not have the %s that toolhost writes: %w", path, markerName, ErrForeign)
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
func makeMarked(base *os.Root) error {
	temp := "." + directoryName + temporary + rand.Text()
	if err := base.Mkdir(temp, 0o700); err != nil {
		return err
	}
	inside := filepath.Join(temp, markerName)
	err := writeSynced(base, inside, marker)
	if err == nil {
		err = base.Rename(temp, directoryName)
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

// reopen reports whether an error means that the directory was removed while it was open, and
// it could be made again.
func (d *directory) reopen(err error) bool { return errors.Is(err, fs.ErrNotExist) && d.open() == nil }

func (d *directory) close() error { return d.root.Load().Close() }
