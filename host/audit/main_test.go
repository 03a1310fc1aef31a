package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// childVariable makes this binary a process that writes to a log: its value is
// what it does, its arguments are the log and how.
const childVariable = "TOOLHOST_AUDIT_TEST_CHILD"

var children = map[string]func(args []string) error{"write": childWrites}

func TestMain(m *testing.M) {
	do := children[os.Getenv(childVariable)]
	if do == nil {
		os.Exit(m.Run())
	}
	if err := do(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// childWrites writes as many lines as it is told from four goroutines, some of
// them to disk.
func childWrites(args []string) error {
	path, name := args[0], args[1]
	lines, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	f, err := Open(path, Options{MaxSize: 20_000, Keep: -1})
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	faults := make([]error, 4)
	for g := range faults {
		wg.Go(func() {
			for i := g; i < lines && faults[g] == nil; i += len(faults) {
				r := Record{Event: End, Tool: "fs.read", Session: name, Call: strconv.Itoa(i)}
				if i%50 == 0 {
					r.Event = Begin
				}
				faults[g] = f.Write(r)
			}
		})
	}
	wg.Wait()
	return errors.Join(errors.Join(faults...), f.Close())
}

func open(t *testing.T, path string, o Options) *File {
	t.Helper()
	f := require.Must(Open(path, o))(t)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return f
}

// newLog is a log in a directory of its own, with n lines.
func newLog(t *testing.T, n int, o Options) (*File, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state", "audit.jsonl")
	f := open(t, path, o)
	write(t, f, n)
	return f, path
}

func write(t *testing.T, f *File, n int) {
	t.Helper()
	for i := range n {
		require.NoError(t, f.Write(record(i)))
	}
}

var start = time.Date(2026, 10, 11, 12, 0, 0, 0, time.UTC)

// record is one of many that differ.
func record(i int) Record {
	return Record{
		Time: start.Add(time.Duration(i) * time.Second), Event: End, Call: fmt.Sprintf("c%d", i), Caller: "cli", Session: "session-1",
		Tool: "fs.read", Plugin: "fs", Arguments: Digest([]byte("{}")), Input: json.RawMessage(`{"path":"a.txt"}`),
		Decision: Allowed, Attempts: 1, Duration: 1_500_000,
	}
}

func verify(t *testing.T, path string) *Report {
	t.Helper()
	r := require.Must(Verify(t.Context(), path))(t)
	return &r
}

// isWhole checks that a log has so many lines and no break.
func isWhole(t *testing.T, path string, lines int) *Report {
	t.Helper()
	r := verify(t, path)
	if r.Break != nil || r.Lines != lines {
		t.Errorf("want %d lines and no break:\n%s", lines, r)
	}
	return r
}

// brief is the report in one line.
func brief(r *Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d lines:", r.Lines)
	if r.Break != nil {
		fmt.Fprintf(&b, " %s %d", r.Break.Kind, r.Break.Line)
	}
	if r.Unverified > 0 {
		fmt.Fprintf(&b, ", then %d", r.Unverified)
	}
	return b.String()
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b := require.Must(os.ReadFile(path))(t)
	return b
}

// readLines are the lines of a file, each with its newline.
func readLines(t *testing.T, path string) [][]byte {
	t.Helper()
	lines := bytes.SplitAfter(read(t, path), []byte("\n"))
	return lines[:len(lines)-1]
}

func overwrite(t *testing.T, path string, content ...[]byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, slices.Concat(content...), 0o600))
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	assert.Equalf(t, got, want, "%s", what)
}
