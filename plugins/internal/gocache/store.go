package gocache

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// store is the directory of a cache.
type store string

// output is what an action has put out.
type output struct {
	id   []byte
	size int64
	time time.Time
	path string
}

func (s store) name(id []byte, kind string) string {
	text := hex.EncodeToString(id)
	return filepath.Join(string(s), text[:2], text+"-"+kind)
}

// get returns what an action has put out; false: that is not known, or not there any more.
func (s store) get(action []byte) (o output, ok bool) {
	line, err := os.ReadFile(s.name(action, "a"))
	if err != nil || len(line) > 256 {
		return o, false
	}
	fields := strings.Fields(string(line)) // v1 ACTION OUTPUT SIZE TIME
	if len(fields) != 5 || fields[0] != "v1" || fields[1] != hex.EncodeToString(action) {
		return o, false
	}
	id, err1 := hex.DecodeString(fields[2])
	size, err2 := strconv.ParseInt(fields[3], 10, 64)
	at, err3 := strconv.ParseInt(fields[4], 10, 64)
	if errors.Join(err1, err2, err3) != nil || len(id) != sha256.Size {
		return o, false
	}
	o = output{id, size, time.Unix(0, at), s.name(id, "d")}
	info, err := os.Stat(o.path)
	return o, err == nil && info.Mode().IsRegular() && info.Size() == size
}

// put keeps what an action has put out.
func (s store) put(action, id []byte, size int64, body io.Reader) (path string, err error) {
	path = s.name(id, "d")
	if err := s.write(path, size, body); err != nil {
		return "", err
	}
	line := fmt.Sprintf("v1 %x %x %20d %20d\n", action, id, size, time.Now().UnixNano())
	return path, s.write(s.name(action, "a"), int64(len(line)), bytes.NewReader([]byte(line)))
}

// write replaces a file by one of that size, at once.
func (s store) write(path string, size int64, body io.Reader) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	n, err := io.Copy(f, body)
	if err == nil && n != size {
		err = fmt.Errorf("%d bytes came, and not %d", n, size)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// As the go command does with its own cache, what is used is marked as such by the hour, and once
// a day what was not used for five days is removed.
const (
	markEvery = time.Hour
	trimEvery = 24 * time.Hour
	keepFor   = 5 * 24 * time.Hour
)

// mark notes that a file is used.
func mark(path string) {
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > markEvery {
		_ = os.Chtimes(path, time.Time{}, time.Now())
	}
}

// trim removes what was not used for long.
func (s store) trim() {
	trimmed := filepath.Join(string(s), "trimmed")
	if info, err := os.Stat(trimmed); err == nil && time.Since(info.ModTime()) < trimEvery {
		return
	}
	if os.WriteFile(trimmed, nil, 0o600) != nil {
		return
	}
	files, _ := filepath.Glob(filepath.Join(string(s), "[0-9a-f][0-9a-f]", "*")) // no error but of the pattern
	for _, path := range files {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > keepFor {
			_ = os.Remove(path)
		}
	}
}
