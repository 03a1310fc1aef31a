package source

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// Fingerprint identifies the state of some files. If two fingerprints differ,
// what was read from the files may no longer hold.
type Fingerprint [sha256.Size]byte

// Hasher computes the fingerprint of what is added to it, in that order.
type Hasher struct{ hash hash.Hash }

// NewHasher returns a Hasher to which nothing has been added.
func NewHasher() Hasher { return Hasher{sha256.New()} }

// Bytes adds b without its length.
func (h Hasher) Bytes(b []byte) { h.hash.Write(b) }

// Fingerprint adds the fingerprint of something else.
func (h Hasher) Fingerprint(f Fingerprint) { h.Bytes(f[:]) }

// Text adds a string.
func (h Hasher) Text(t string) {
	h.Number(int64(len(t)))
	h.Bytes([]byte(t))
}

// Number adds a number.
func (h Hasher) Number(n int64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	h.Bytes(b[:])
}

// Files adds the paths, sizes and times of files.
func (h Hasher) Files(files ...File) {
	h.Number(int64(len(files)))
	for _, f := range files {
		h.Text(f.Path)
		h.Number(f.size)
		h.Number(f.modTime)
	}
}

// Sum returns the fingerprint of what was added.
func (h Hasher) Sum() (out Fingerprint) {
	h.hash.Sum(out[:0])
	return out
}
