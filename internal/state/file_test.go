package state_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/internal/state"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

type counts map[string]int

func TestUpdate(t *testing.T) {
	t.Parallel()
	file := state.File[counts]{Path: filepath.Join(t.TempDir(), "toolhost", "counts.json")}
	if got, err := file.Read(); got != nil || err != nil {
		t.Fatalf("a missing file: %v, %v", got, err)
	}
	// Each process opens the lock for itself, as each Update does: none is lost.
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			err := file.Update(func(c *counts) error {
				if *c == nil {
					*c = counts{}
				}
				(*c)["n"]++
				return nil
			})
			assert.NoError(t, err)
		})
	}
	all.Wait()
	if got, err := file.Read(); got["n"] != 16 || err != nil {
		t.Errorf("%v, %v, want 16", got, err)
	}
	info := require.Must(os.Stat(file.Path))(t)
	refusal := errors.New("no")
	if err := file.Update(func(c *counts) error { (*c)["n"] = 0; return refusal }); err != refusal { //nolint:errorlint // it is to be the same
		t.Errorf("change's error comes back as %v", err)
	}
	assert.NoError(t, file.Update(func(*counts) error { return nil }))
	again, err := os.Stat(file.Path)
	if err != nil || !os.SameFile(info, again) {
		t.Errorf("the file was written again though nothing changed: %v", err)
	}
	if entries, err := os.ReadDir(filepath.Dir(file.Path)); len(entries) != 2 || err != nil { // the file and its lock
		t.Errorf("left in the directory: %v, %v", entries, err)
	}
}

// What cannot be understood is never taken for nothing, nor written over.
func TestDamaged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "damaged.json")
	file := state.File[counts]{Path: path}
	for name, content := range map[string]string{"cut": `{"n": 1`, "empty": "", "huge": `{"n": 1}` + strings.Repeat(" ", state.MaxSize)} {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		if got, err := file.Read(); err == nil || !strings.Contains(err.Error(), path) || got != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if err := file.Update(func(c *counts) error { *c = counts{}; return nil }); err == nil {
			t.Errorf("%s was written over", name)
		}
		if now, err := os.ReadFile(path); string(now) != content || err != nil {
			t.Errorf("%s: now %.40q, %v", name, now, err)
		}
	}
}
