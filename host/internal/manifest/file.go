package manifest

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
)

// A file is a line that names the format, a checksum, and the payload.
var head = "toolhost cache " + strconv.Itoa(format) + "\n"

const overhead = sha256.Size

var errDamaged = errors.New("it is damaged")

// temporary begins the names of files that are being written.
const temporary = ".new-"

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

// read is the payload of a file, if all is in order with it.
func (d *directory) read(name string, most int, sum sealer) ([]byte, error) {
	root := d.root.Load()
	content, err := readPrivate(root, name, int64(len(head)+overhead+most))
	if err != nil {
		return nil, err
	}
	if len(content) < len(head)+overhead {
		return nil, errDamaged
	}
	payload := content[len(head)+overhead:]
	want := sum(payload)
	if string(content[:len(head)]) != head || !bytes.Equal(content[len(head):len(head)+overhead], want[:]) {
		return nil, errDamaged
	}
	if info, err := root.Lstat(name); err == nil {
		if now := time.Now(); now.Sub(info.ModTime()) > used {
			_ = root.Chtimes(name, now, now) // for prune; where it cannot be set, it is read all the same
		}
	}
	return payload, nil
}

// noWriting are the permissions that nobody else may have, root aside.
const noWriting = 0o022

// readPrivate is the content of a regular file of at most so many bytes that nobody else
// could have written.
func readPrivate(root *os.Root, name string, most int64) ([]byte, error) {
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
		return nil, errDamaged
	}
	content := make([]byte, info.Size())
	_, err = io.ReadFull(f, content)
	return content, err
}

// write puts a file in the place of the one that may be there, in one step.
func (d *directory) write(name string, payload []byte, sum sealer) error {
	checksum := sum(payload)
	content := append(append([]byte(head), checksum[:]...), payload...)
	err := replace(d.root.Load(), name, content)
	if d.reopen(err) {
		err = replace(d.root.Load(), name, content)
	}
	return err
}

func replace(root *os.Root, name string, content []byte) (err error) {
	draft := temporary + rand.Text()
	f, err := root.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = root.Remove(draft)
		}
	}()
	if _, err := f.Write(content); err != nil {
		return errors.Join(err, f.Close())
	}
	// Not synced: what a power cut tears is found by the checksum.
	if err := f.Close(); err != nil {
		return err
	}
	return root.Rename(draft, name)
}
