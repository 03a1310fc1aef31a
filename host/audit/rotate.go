package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// minDigits is how many digits a rotated file's number has at least. It keeps
// names in order, and other programs' audit.jsonl.1 out.
const minDigits = 6

// rotated is a file of the log that is complete.
type rotated struct {
	path   string
	number uint64
}

func rotatedPath(path string, number uint64) string {
	return fmt.Sprintf("%s.%0*d", path, minDigits, number)
}

// listRotated are the complete files of a log, the oldest first.
func listRotated(path string) ([]rotated, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []rotated
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), filepath.Base(path)+".")
		if !ok || len(digits) < minDigits || strings.Trim(digits, "0123456789") != "" {
			continue
		}
		if n, err := strconv.ParseUint(digits, 10, 64); err == nil {
			out = append(out, rotated{filepath.Join(filepath.Dir(path), e.Name()), n})
		}
	}
	slices.SortFunc(out, func(a, b rotated) int {
		if a.number < b.number {
			return -1
		}
		return 1
	})
	return out, nil
}

// rotate gives the file, which is locked, its number. Whoever comes next makes
// a new one and goes on with the chain, also after a crash in between.
func (f *File) rotate() error {
	files, err := listRotated(f.path)
	if err != nil {
		return err
	}
	number := uint64(1)
	if len(files) > 0 {
		number = files[len(files)-1].number + 1
	}
	if err := os.Rename(f.path, rotatedPath(f.path, number)); err != nil {
		return err
	}
	return f.retire()
}

// before is what the log ends with where the file is empty: the end of the file
// before it. It also finds out which files are too old.
func (f *File) before() (ending, error) {
	files, err := listRotated(f.path)
	if err != nil || len(files) == 0 {
		return ending{}, err
	}
	if keep := f.opts.Keep; keep > 0 && len(files) > keep {
		if err := f.giveUp(files[:len(files)-keep]); err != nil {
			return ending{}, err
		}
	}
	var out ending
	for i := len(files) - 1; i >= 0; i-- {
		e, err := endingOf(files[i].path)
		if err != nil {
			return ending{}, err
		}
		if i == len(files)-1 {
			out.torn = e.torn
		}
		if e.last.seq > 0 {
			out.last = e.last
			break
		}
	}
	return out, nil
}

func endingOf(path string) (ending, error) {
	file, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return ending{}, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return ending{}, err
	}
	return readEnding(file, info.Size())
}

// giveUp takes note of files that are too old. The first line of the new file
// says up to where the log was deleted, so that nobody else can take an old file
// away unnoticed; and it is written before, as a crash in between may leave more
// than was promised but not less.
func (f *File) giveUp(old []rotated) error {
	e, err := endingOf(old[len(old)-1].path)
	if err != nil || e.last.seq == 0 { // there is nothing to say of a file that has no line
		return err
	}
	f.oldest = e.last.seq + 1
	for _, file := range old {
		f.victims = append(f.victims, file.path)
	}
	return nil
}
