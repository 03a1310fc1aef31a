package manifest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// A file is a line that names the format, a checksum, and the payload.
var head = "toolhost cache " + strconv.Itoa(format) + "\n"

const overhead = sha256.Size

var errDamaged = errors.New("it is damaged")

// A sealer is the checksum of a payload.
type sealer func(payload []byte) [sha256.Size]byte

// seal makes a checksum of the payload and of what the file is for, so that one that
// was put in another's place is not believed.
func seal(purpose []byte) sealer {
	return func(payload []byte) [sha256.Size]byte {
		h := sha256.New()
		_, _ = h.Write(appendNumber(nil, len(purpose)))
		_, _ = h.Write(purpose)
		_, _ = h.Write(payload)
		var sum [sha256.Size]byte
		h.Sum(sum[:0])
		return sum
	}
}

// used is how often a file's time is set to show that it is still used.
const used = 24 * time.Hour

// readFile is the payload of a file, if all is in order with it.
func readFile(path string, most int, sum sealer) ([]byte, error) {
	f, err := os.OpenFile(path, openOnly, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := info.Size() - int64(len(head)+overhead)
	if !info.Mode().IsRegular() || !private(info) || size < 0 || size > int64(most) {
		return nil, errDamaged
	}
	content := make([]byte, info.Size())
	if _, err := io.ReadFull(f, content); err != nil {
		return nil, err
	}
	payload := content[len(head)+overhead:]
	want := sum(payload)
	if string(content[:len(head)]) != head || !bytes.Equal(content[len(head):len(head)+overhead], want[:]) {
		return nil, errDamaged
	}
	if now := time.Now(); now.Sub(info.ModTime()) > used {
		_ = os.Chtimes(path, now, now) // for prune; where it cannot be set, it is read all the same
	}
	return payload, nil
}

// writeFile puts a file in the place of the one that may be there, in one step.
func writeFile(path string, payload []byte, sum sealer) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), temporary+"*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	checksum := sum(payload)
	content := append(append([]byte(head), checksum[:]...), payload...)
	if _, err := f.Write(content); err != nil {
		return errors.Join(err, f.Close())
	}
	// Not synced: what a power cut tears is found by the checksum.
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
