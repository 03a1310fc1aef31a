package manifest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/internal/sealed"
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
	dir *directory // of the index

	mu      sync.Mutex // never held while a file is hashed
	loaded  bool
	known   index
	unsaved index
	hashing map[identity]*hashing
}

// hashing is one reading of a file that several may wait for.
type hashing struct {
	done   chan struct{}
	sum    digest
	err    error
	gaveUp bool // as the context of who read it ended
}

// of is the digest of the file at a path.
func (d *digests) of(ctx context.Context, path string) (digest, error) {
	for {
		sum, retry, err := d.once(ctx, path)
		if !retry {
			return sum, err
		}
	}
}

// once is of, or tells to try again: whoever read the file in its place gave up.
func (d *digests) once(ctx context.Context, path string) (sum digest, retry bool, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return digest{}, false, err
	}
	id, ok := identityOf(info)
	if !ok {
		_, sum, err := hashFile(ctx, path)
		return sum, false, err
	}
	d.mu.Lock()
	if !d.loaded {
		d.known, d.unsaved, d.loaded = readIndex(d.dir), index{}, true
		d.hashing = map[identity]*hashing{}
	}
	if sum, ok := d.known[id]; ok {
		d.mu.Unlock()
		return sum, false, nil
	}
	h := d.hashing[id]
	if h != nil {
		d.mu.Unlock()
		select {
		case <-h.done:
			return h.sum, h.gaveUp && ctx.Err() == nil, h.err
		case <-ctx.Done():
			return digest{}, false, ctx.Err()
		}
	}
	h = &hashing{done: make(chan struct{})}
	d.hashing[id] = h
	d.mu.Unlock()

	begin := time.Now()
	read, sum, err := hashFile(ctx, path)
	h.sum, h.err, h.gaveUp = sum, err, ctx.Err() != nil

	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.hashing, id)
	close(h.done)
	if err == nil && read.settledAt(begin) {
		d.known[read], d.unsaved[read] = sum, sum
	}
	if len(d.hashing) == 0 && len(d.unsaved) > 0 { // once for all that are hashed side by side
		d.unsaved.save(d.dir)
		clear(d.unsaved)
	}
	return sum, false, err
}

// hashFile reads a file, one that is not too large, until its context ends. Its identity
// is that of the open file, before and after: a link that was made meanwhile changes it
// and does no harm, as it is too young then to be remembered.
func hashFile(ctx context.Context, path string) (identity, digest, error) {
	f, info, err := sealed.Open(path, sealed.MaxSize)
	if err != nil {
		return identity{}, digest{}, err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	n, err := io.CopyBuffer(h, onlyReader{sealed.Reader(ctx, f, info.Size())}, make([]byte, 256<<10))
	if err != nil {
		return identity{}, digest{}, fmt.Errorf("%s: %w", path, err)
	}
	after, err := f.Stat()
	if err != nil {
		return identity{}, digest{}, err
	}
	if n != info.Size() || after.Size() != info.Size() || !after.ModTime().Equal(info.ModTime()) {
		return identity{}, digest{}, fmt.Errorf("%s: %w", path, sealed.ErrChanged)
	}
	var sum digest
	h.Sum(sum[:0])
	id, _ := identityOf(after)
	return id, sum, nil
}

// onlyReader hides what would let io.CopyBuffer do without the buffer.
type onlyReader struct{ io.Reader }

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
