package manifest

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// settled is how old a file's times must be for its identity to tell whether it was
// changed since: 2 s, the coarsest that file systems keep (FAT). A file that is
// younger can be written to once more and keep its size and times, so its digest is
// used and not remembered (git calls such an entry racily clean).
const settled = 2 * time.Second

type digest [sha256.Size]byte

// identity is what the system says of a file that changes whenever its content
// does.
type identity struct {
	device, inode        uint64
	size, mtime, changed int64 // bytes; nanoseconds since 1970
}

// settledAt reports whether a change after that moment would show.
func (id identity) settledAt(now time.Time) bool {
	return max(id.mtime, id.changed) < now.Add(-settled).UnixNano()
}

// digests are the SHA-256 of files. No file is read twice for it while its identity
// stays the same, nor twice at a time.
type digests struct {
	path string // of the index

	mu      sync.Mutex // never held while a file is hashed
	loaded  bool
	known   index
	unsaved index
	hashing map[identity]*hashing
}

// hashing is one reading of a file that several may wait for.
type hashing struct {
	done chan struct{}
	sum  digest
	err  error
}

// of is the digest of the file at a path.
func (d *digests) of(path string) (digest, error) {
	info, err := os.Stat(path)
	if err != nil {
		return digest{}, err
	}
	id, ok := identityOf(info)
	if !ok {
		_, sum, err := hashFile(path)
		return sum, err
	}
	d.mu.Lock()
	if !d.loaded {
		d.known, d.unsaved, d.loaded = readIndex(d.path), index{}, true
		d.hashing = map[identity]*hashing{}
	}
	if sum, ok := d.known[id]; ok {
		d.mu.Unlock()
		return sum, nil
	}
	h := d.hashing[id]
	if h != nil {
		d.mu.Unlock()
		<-h.done
		return h.sum, h.err
	}
	h = &hashing{done: make(chan struct{})}
	d.hashing[id] = h
	d.mu.Unlock()

	begin := time.Now()
	read, sum, err := hashFile(path)
	h.sum, h.err = sum, err

	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.hashing, id)
	close(h.done)
	if err == nil && read.settledAt(begin) {
		d.known[read], d.unsaved[read] = sum, sum
	}
	if len(d.hashing) == 0 && len(d.unsaved) > 0 { // once for all that are hashed side by side
		d.unsaved.save(d.path)
		clear(d.unsaved)
	}
	return sum, err
}

// hashFile reads a file. Its identity is that of the open file, before and after: a
// link that was made meanwhile changes it and does no harm, as it is too young then to
// be remembered.
func hashFile(path string) (identity, digest, error) {
	f, err := os.Open(path)
	if err != nil {
		return identity{}, digest{}, err
	}
	defer func() { _ = f.Close() }()
	before, err := statOpen(f)
	if err != nil {
		return identity{}, digest{}, err
	}
	h := sha256.New()
	if _, err := io.CopyBuffer(h, onlyReader{f}, make([]byte, 256<<10)); err != nil {
		return identity{}, digest{}, err
	}
	after, err := statOpen(f)
	if err != nil {
		return identity{}, digest{}, err
	}
	if before.size != after.size || before.mtime != after.mtime {
		return identity{}, digest{}, fmt.Errorf("%s was changed while it was read", path)
	}
	var sum digest
	h.Sum(sum[:0])
	return after, sum, nil
}

// onlyReader hides what would let io.CopyBuffer do without the buffer.
type onlyReader struct{ io.Reader }

// statOpen is the identity of an open file; zero where the system has none.
func statOpen(f *os.File) (identity, error) {
	info, err := f.Stat()
	if err != nil {
		return identity{}, err
	}
	id, _ := identityOf(info)
	return id, nil
}

// Stamp is what tells one content of a file from another without reading it. The zero
// value is that of no file. It knows nothing of what changes the file's other facts:
// its mode, or links to it elsewhere.
type Stamp struct {
	size, mtime   int64
	device, inode uint64
}

// StampOf is the stamp of a file as it is now.
func StampOf(path string) Stamp {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return Stamp{}
	}
	id, _ := identityOf(info) // of other systems, size and time have to do
	return Stamp{info.Size() + 1, info.ModTime().UnixNano(), id.device, id.inode}
}
