package manifest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/sealed"
)

// settled is how old a file's times must be for its identity to tell whether it was
// changed since: 2 s, the coarsest that file systems keep (FAT). A file that is
// younger can be written to once more and keep its size and times, so its digest is
// used and not remembered (git calls such an entry racily clean).
const settled = 2 * time.Second

// Digest is the SHA-256 of a file; as text, hexadecimal.
type Digest [sha256.Size]byte

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText implements [encoding.TextMarshaler].
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(d)) {
		return errDamaged
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// identity is what the system says of a file that changes whenever its content
// does. The zero value is that of no file.
type identity struct {
	Device  uint64 `json:"device"`
	Inode   uint64 `json:"inode"`
	Size    int64  `json:"size"`
	MTime   int64  `json:"mtime"` // nanoseconds since 1970
	Changed int64  `json:"changed"`
}

// settledAt reports whether a change after that moment would show.
func (id identity) settledAt(now time.Time) bool {
	return max(id.MTime, id.Changed) < now.Add(-settled).UnixNano()
}

// digests are those of the files that this process has hashed.
type digests struct {
	mu    sync.Mutex // never held while a file is hashed
	known map[identity]Digest
}

// of returns the digest of the file at a path, and the identity by which it can be
// remembered; zero: it cannot. The file is not read if it is known, or the one of the record.
func (d *digests) of(ctx context.Context, path string, r *record) (Digest, identity, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return Digest{}, identity{}, err
	}
	if id, ok := identityOf(info); ok {
		if id == r.File {
			return r.SHA256, id, nil
		}
		d.mu.Lock()
		sum, ok := d.known[id]
		d.mu.Unlock()
		if ok {
			return sum, id, nil
		}
	}
	begin := time.Now()
	id, sum, err := hashFile(ctx, path)
	if err != nil || id == (identity{}) || !id.settledAt(begin) {
		return sum, identity{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil {
		d.known = map[identity]Digest{}
	}
	d.known[id] = sum
	return sum, id, nil
}

// DigestOf returns the SHA-256 of a file.
//
// # Errors
//
// Those of reading it.
func DigestOf(ctx context.Context, path string) (Digest, error) {
	_, sum, err := hashFile(ctx, path)
	return sum, err
}

// patience is how long a file system may take for its next answer.
const patience = 5 * time.Second

// errHangs is the error of a file system that does not answer.
var errHangs = fmt.Errorf("its file system has not answered for %v", patience)

// hashFile is hashNow that gives up when its context ends or the file system does not answer: whoever wants the digest
// holds a place among those that start, and others wait for it.
func hashFile(ctx context.Context, path string) (id identity, sum Digest, err error) {
	var read atomic.Int64
	done := make(chan func(), 1)
	go func() { // until the file system answers
		i, s, e := hashNow(ctx, path, &read)
		done <- func() { id, sum, err = i, s, e }
	}()
	tick := time.NewTicker(patience)
	defer tick.Stop()
	for before := int64(-1); ; before = read.Load() {
		select {
		case take := <-done:
			take()
			return id, sum, err
		case <-ctx.Done():
			return identity{}, Digest{}, context.Cause(ctx)
		case <-tick.C:
			if read.Load() == before {
				return identity{}, Digest{}, fmt.Errorf("%s: %w", path, errHangs)
			}
		}
	}
}

// hashNow reads a file, one that is not too large, until its context ends. Its identity
// is that of the open file, before and after: a link that was made meanwhile changes it
// and does no harm, as it is too young then to be remembered.
func hashNow(ctx context.Context, path string, read *atomic.Int64) (identity, Digest, error) {
	f, info, err := sealed.Open(path, sealed.MaxSize)
	if err != nil {
		return identity{}, Digest{}, err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	n, err := io.CopyBuffer(h, counted{sealed.Reader(ctx, f, info.Size()), read}, make([]byte, 256<<10))
	if err != nil {
		return identity{}, Digest{}, fmt.Errorf("%s: %w", path, err)
	}
	after, err := f.Stat()
	if err != nil {
		return identity{}, Digest{}, err
	}
	if n != info.Size() || !safefile.IsSame(info, after) {
		return identity{}, Digest{}, fmt.Errorf("%s: %w", path, sealed.ErrChanged)
	}
	var sum Digest
	h.Sum(sum[:0])
	id, _ := identityOf(after)
	return id, sum, nil
}

// counted counts what is read, and hides what would let io.CopyBuffer do without the buffer.
type counted struct {
	from io.Reader
	read *atomic.Int64
}

// Read implements [io.Reader].
func (c counted) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	c.read.Add(int64(n))
	return n, err
}

// Stamp is what tells one content of a file from another without reading it. The zero
// value is that of no file. It does not change with the file's other facts: its mode, or
// links to it elsewhere.
type Stamp struct {
	size, mtime   int64
	device, inode uint64
}

// StampOf returns the stamp of a file as it is now.
func StampOf(path string) Stamp {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return Stamp{}
	}
	id, _ := identityOf(info) // other systems have no more than size and time
	return Stamp{info.Size() + 1, info.ModTime().UnixNano(), id.Device, id.Inode}
}
