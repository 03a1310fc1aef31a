package state

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/trusted"
)

// MaxSize bounds a file, in bytes, unless its Max does: 1 MiB.
const MaxSize = 1 << 20

// lockTime bounds how long Update waits for other processes.
const lockTime = 10 * time.Second

// File is a value of type T, kept as JSON at a path. It is safe for concurrent use,
// by several processes too.
type File[T any] struct {
	Path string
	Max  int64 // bytes; 0: MaxSize
}

func (f File[T]) most() int64 { return cmp.Or(f.Max, MaxSize) }

// In returns the file of this name in the user's state directory ([Dir]).
//
// # Errors
//
// Those of [Dir].
func In[T any](name string) (File[T], error) {
	dir, err := Dir()
	return File[T]{Path: filepath.Join(dir, name)}, err
}

// Read returns the value; the zero value if there is no file.
//
// # Errors
//
// Each names the file and what to do. A file that cannot be read or parsed, is larger than
// its bound, or that others could have written, is an error and does not count as missing:
// damaging a file must not undo what it decides.
func (f File[T]) Read() (T, error) {
	var value T
	text, err := trusted.Read(f.Path, f.most())
	if errors.Is(err, fs.ErrNotExist) {
		return value, nil
	}
	if err != nil {
		return value, err
	}
	if err := json.Unmarshal(text, &value); err != nil {
		var zero T
		return zero, fmt.Errorf("%s is damaged: %w: mend or remove it", f.Path, err)
	}
	return value, nil
}

// Update replaces the value by what change makes of it, while no other Update runs. It
// writes nothing if change returns an error or changes nothing. It makes the directory if it
// is missing, for its owner only.
//
// # Errors
//
// That of change; those of Read; those of the system.
func (f File[T]) Update(change func(*T) error) error {
	dir := filepath.Dir(f.Path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("%s cannot be written: %w", f.Path, err)
	}
	// A separate file is locked, as the file itself is replaced.
	lock, _, err := safefile.Open(f.Path+".lock", os.O_RDWR|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("%s cannot be changed: %s.lock cannot be opened: %w", f.Path, f.Path, err)
	}
	defer func() {
		// A process that is being started may have the descriptor for a moment longer.
		_ = safefile.Unlock(lock)
		_ = lock.Close()
	}()
	if err := safefile.Lock(lock, safefile.Exclusive, time.Now().Add(lockTime)); err != nil {
		return fmt.Errorf("%s cannot be changed: %s: %w", f.Path, lock.Name(), err)
	}
	value, err := f.Read()
	if err != nil {
		return err
	}
	before, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	if err := change(&value); err != nil {
		return err
	}
	after, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	switch {
	case string(before) == string(after):
		return nil
	case int64(len(after)) >= f.most():
		return fmt.Errorf("%s cannot be written: it would have %d bytes, more than %d", f.Path, len(after), f.most())
	}
	if err := safefile.Replace(f.Path, append(after, '\n'), 0o600); err != nil {
		return fmt.Errorf("%s cannot be written: %w", f.Path, err)
	}
	return nil
}
