package installed

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/fulldisk"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A disk that fills in the middle of an install leaves everything as it was, wherever it fills.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	fulldisk.Run(t, func(t *testing.T, dir string) {
		d := opened(t, filepath.Join(dir, Name))
		put(t, d, "1.0.0", "one")
		was := tree(t, d)
		failed := 0
		for left := range int64(12) { // pages that are left
			require.NoError(t, fill(d, left))
			p, err := prepare(t, d, "1.1.0", strings.Repeat("two ", 2000))
			if err == nil {
				err = p.Discard()
			} else {
				failed++
				assert.ErrorIsf(t, err, syscall.ENOSPC, "with %d pages", left)
			}
			downloads, _ := d.Downloads()
			_, _ = downloads.Remove("file"), downloads.Remove("full")
			assert.Equalf(t, tree(t, d), was, "with %d pages left: %v\nbefore:\n%s\nafter", left, err, was)
			serves(t, d, "one")
		}
		if failed < 3 {
			t.Errorf("it failed %d times: the disk was not full", failed)
		}
	})
}

// fill leaves so many pages of the disk.
func fill(d *Dir, pages int64) error {
	downloads, _ := d.Downloads()
	f, err := downloads.Create("full")
	if err != nil {
		return err
	}
	size := int64(0)
	for page := make([]byte, 4096); err == nil; size += 4096 {
		_, err = f.Write(page)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return errors.Join(err, f.Close())
	}
	return errors.Join(f.Truncate(max(0, size-4096*(pages+1))), f.Close())
}
