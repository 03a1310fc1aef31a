package audit

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
)

// minDigits is the least number of digits in a rotated file's number. It keeps the names in
// order, and excludes audit.jsonl.1 of other programs.
const minDigits = 6

// maxNumber bounds the numbers of rotated files: one a second lasts 30 years. toolhost has
// not made a file with a larger one.
const maxNumber = 999_999_999

// rotated is a complete file of the log.
type rotated struct {
	path   string
	number uint64
}

func rotatedPath(path string, number uint64) string {
	return fmt.Sprintf("%s.%0*d", path, minDigits, number)
}

// rotatedNumber returns the number in a file's name; false: it is not a file of the log
// named base. Each number has one name only.
func rotatedNumber(base, name string) (number uint64, ok bool) {
	digits, ok := strings.CutPrefix(name, base+".")
	if !ok || len(digits) < minDigits || len(digits) > minDigits && digits[0] == '0' || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	number, err := strconv.ParseUint(digits, 10, 64)
	return number, err == nil && 0 < number && number <= maxNumber
}

// listRotated returns the complete files of a log, the oldest first, and the largest number
// that is taken, even by something that is not a file.
func listRotated(path string) (files []rotated, largest uint64, err error) {
	dir, err := os.Open(filepath.Dir(path))
	if isMissing(err) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = dir.Close() }()
	for err == nil {
		var entries []fs.DirEntry
		entries, err = dir.ReadDir(1024)
		for _, e := range entries {
			n, ok := rotatedNumber(filepath.Base(path), e.Name())
			if !ok {
				continue
			}
			largest = max(largest, n)
			if e.Type().IsRegular() {
				files = append(files, rotated{filepath.Join(filepath.Dir(path), e.Name()), n})
			}
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	slices.SortFunc(files, func(a, b rotated) int { return cmp.Compare(a.number, b.number) })
	return files, largest, nil
}

// isOld reports whether it is time for a new file, because of the age of this one's first line.
func (f *File) isOld() bool {
	if f.opts.MaxAge <= 0 {
		return false
	}
	if f.began.IsZero() {
		var ok bool
		if f.began, ok = firstTime(f.at); !ok {
			f.began = time.Now()
		}
	}
	return time.Since(f.began) > f.opts.MaxAge/4
}

// rotate gives the file, which is locked, its number. The next writer makes a new file and
// continues the chain, also after a crash in between.
func (f *File) rotate() error {
	_, largest, err := listRotated(f.path)
	if err != nil {
		return err
	}
	if largest == maxNumber {
		return fmt.Errorf("%s has the largest number there is, which toolhost cannot have given it: move it away", rotatedPath(f.path, largest))
	}
	if err := renameNew(f.path, rotatedPath(f.path, largest+1)); err != nil {
		return err
	}
	return f.closeFile()
}

// renameUnlessTaken is renameNew for systems that cannot do it in one step. Other writers of
// the log are locked out meanwhile.
func renameUnlessTaken(from, to string) error {
	if _, err := os.Lstat(to); !isMissing(err) {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: cmp.Or(err, fs.ErrExist)}
	}
	return os.Rename(from, to)
}

// maxSearched bounds how many rotated files are opened to find the last line. It is nearly
// always in the newest.
const maxSearched = 16

// previousEnding returns what the log ends with if the file is empty: the end of the file
// before it. It also finds the files that are too old.
func (f *File) previousEnding() (ending, error) {
	files, _, err := listRotated(f.path)
	if err != nil || len(files) == 0 {
		return ending{}, err
	}
	excess := 0
	if keep := f.opts.Keep; keep > 0 {
		excess = max(0, len(files)-keep)
	}
	for f.opts.MaxAge > 0 && excess < len(files) {
		e, err := endingOf(files[excess].path)
		if err != nil {
			return ending{}, err
		}
		if e.at.IsZero() || time.Since(e.at) <= f.opts.MaxAge {
			break
		}
		excess++
	}
	if err := f.markObsolete(files[:excess]); err != nil {
		return ending{}, err
	}
	var out ending
	for i := range min(len(files), maxSearched) {
		e, err := endingOf(files[len(files)-1-i].path)
		if err != nil {
			return ending{}, err
		}
		if i == 0 {
			out.torn = e.torn
		}
		if e.last.seq > 0 {
			out.last = e.last
			return out, nil
		}
	}
	if len(files) > maxSearched {
		return ending{}, fmt.Errorf("the newest %d files that were rotated, up to %s, have no record: move them away",
			maxSearched, files[len(files)-1].path)
	}
	return out, nil
}

// endingOf returns what a rotated file ends with; the zero value if it has no record.
func endingOf(path string) (ending, error) {
	file, info, err := safefile.Open(path, os.O_RDONLY)
	if err != nil {
		return ending{}, err
	}
	defer func() { _ = file.Close() }()
	e, err := readEnding(file, info.Size())
	if errors.Is(err, errNoRecord) {
		return ending{}, nil
	}
	return e, err
}

// maxStrangers bounds how many files without a record are read to find those that are too
// old, as the log is locked meanwhile.
const maxStrangers = 64

// markObsolete notes the files that are too old. The first line of the new file says up to
// where the log was deleted, so that a missing older file is noticed. That line is written
// first: a crash in between may leave more files than it says, but not fewer. A file without
// a record is not the log's, and stays.
func (f *File) markObsolete(old []rotated) error {
	strangers := 0
	for i := len(old) - 1; i >= 0 && strangers < maxStrangers; i-- {
		e, err := endingOf(old[i].path)
		if err != nil {
			return err
		}
		if e.last.seq == 0 {
			strangers++
			continue
		}
		f.oldest = max(f.oldest, e.last.seq+1)
		f.obsolete = append(f.obsolete, old[i].path)
	}
	slices.Reverse(f.obsolete) // a crash during the deletion leaves the newest
	return nil
}
