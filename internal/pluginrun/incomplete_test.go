package pluginrun

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A program is not whole before its last segment or section is there.
func TestMissingPart(t *testing.T) {
	t.Parallel()
	program := require.Must(os.ReadFile(os.Args[0]))(t)
	at := filepath.Join(t.TempDir(), "program")
	write := func(content []byte) {
		t.Helper()
		require.NoError(t, os.WriteFile(at, content, 0o600))
	}
	for _, whole := range [][]byte{program, []byte("#!/bin/sh\n"), []byte("#"), []byte("text"), []byte("\x7fELF is not all that it takes, and nothing is missing of it..........")} {
		write(whole)
		assert.Equalf(t, missingPart(at), "", "%.20q", whole)
	}
	if !strings.HasPrefix(string(program), "\x7fELF") {
		t.Skip("this system has other programs")
	}
	write(program)
	for _, size := range []int64{int64(len(program)) - 1, int64(len(program)) / 2, 1 << 12, 100, 64, 20, 4, 3, 0} {
		require.NoError(t, os.Truncate(at, size))
		if missingPart(at) == "" {
			t.Errorf("%d bytes of %d are taken for all", size, len(program))
		}
	}
	assert.Equalf(t, missingPart(filepath.Dir(at)), "", "a directory")
}
