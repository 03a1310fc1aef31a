package diff

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/internal/truncate"
)

func TestText(t *testing.T) {
	t.Parallel()
	large := bytes.Repeat([]byte("x\n"), maxCompared)
	for _, c := range []struct {
		name   string
		change Change
		want   string
	}{
		{"a line", Change{Path: "a.txt", Exists: true, Old: []byte("one\ntwo\n"), New: []byte("one\n2\n")}, "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"},
		{"new", Change{Path: "dir/a", New: []byte("x")}, "--- /dev/null\n+++ b/dir/a\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"},
		{"emptied", Change{Path: "a", Exists: true, Old: []byte("x\n")}, "--- a/a\n+++ b/a\n@@ -1 +0,0 @@\n-x\n"},
		{"same", Change{Path: "a", Exists: true, Old: []byte("x"), New: []byte("x")}, "No change: a has this content already.\n"},
		{"same, empty", Change{Path: "a", Exists: true}, "No change: a has this content already.\n"},
		{"new and empty", Change{Path: "a"}, "New file a, empty.\n"},
		{"new and large", Change{Path: "a", New: large}, "New file a, 4194304 bytes; it is too large to compare.\n"},
		{"large", Change{Path: "a", Exists: true, OldSize: 1 << 40}, "a is too large to compare: 1099511627776 bytes become 0.\n"},
		{"NUL", Change{Path: "a", Exists: true, Old: []byte("a\x00"), New: []byte("b")}, "a is not text: some of its bytes are shown as \\xNN.\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\\x00\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"},
		{"NUL in a new file", Change{Path: "a", New: []byte("rm x\n\x00\n")}, "a is not text: some of its bytes are shown as \\xNN.\n--- /dev/null\n+++ b/a\n@@ -0,0 +1,2 @@\n+rm x\n+\\x00\n"},
		{"deleted", Change{Path: "a", Exists: true, Old: []byte("x\n"), Deleted: true}, "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"},
		{"deleted, empty", Change{Path: "a", Exists: true, Deleted: true}, "Deletes a, an empty file.\n"},
		{"deleted, large", Change{Path: "a", Exists: true, OldSize: 1 << 40, Deleted: true}, "Deletes a, 1099511627776 bytes; it is too large to compare.\n"},
		{"not UTF-8", Change{Path: "a", Exists: true, Old: []byte("caf\xe9"), New: []byte("b")}, "a is not text: some of its bytes are shown as \\xNN.\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-caf\\xe9\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"},
		{"control characters in the name", Change{Path: "a\x1b[\n\"", Exists: true, OldSize: 1 << 40}, `"a\033[\012\"" is too large to compare: 1099511627776 bytes become 0.` + "\n"},
	} {
		assert.Equalf(t, c.change.Text(), c.want, "%s", c.name)
	}
}

func TestLongDiffsAreCut(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"lines": strings.Repeat("0123456789\n", 100_000), "one line": strings.Repeat("0123456789", 100_000)} {
		got := Change{Path: "a", New: []byte(content)}.Text()
		if len(got) < maxShown || len(got) > maxShown+200 || !strings.Contains(got, "\n"+truncate.Mark+"\nThese are the first 65536 of 1") {
			t.Errorf("%s: %d bytes, end %q", name, len(got), got[max(0, len(got)-100):])
		}
	}
}

// Two files of 2 MiB with nothing in common: the work has to be bounded.
func TestFilesWithNothingInCommon(t *testing.T) {
	t.Parallel()
	var a, b bytes.Buffer
	for i := 0; b.Len() < maxCompared-20; i++ {
		fmt.Fprintf(&a, "a%d\n", i)
		fmt.Fprintf(&b, "b%d\n", i*i)
	}
	assert.Contains(t, (Change{Path: "a", Exists: true, Old: a.Bytes(), New: b.Bytes()}).Text(), truncate.Mark)
}

// appliers are the programs that have to take a diff.
var appliers = map[string]func(dir, diff string) *exec.Cmd{
	"git": func(string, string) *exec.Cmd { return exec.Command("git", "apply", "--whitespace=nowarn", "-") },
	"patch": func(string, string) *exec.Cmd {
		return exec.Command("patch", "-p1", "--binary", "--silent", "--force", "--no-backup-if-mismatch")
	},
}

// apply gives the change to a program and compares what it makes of it.
func apply(t *testing.T, program string, c Change) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, c.Path)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	if c.Exists {
		require.NoError(t, os.WriteFile(file, c.Old, 0o644))
	}
	diff := c.Text()
	cmd := appliers[program](dir, diff)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(diff)
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s\n%s", program, err, out, diff)
	}
	got, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) && len(c.New) == 0 { // what becomes empty, patch takes away
		err = nil
	}
	if err != nil || !bytes.Equal(got, c.New) {
		t.Fatalf("%s made %q of %q, want %q, %v\n%s", program, got, c.Old, c.New, err, diff)
	}
}

func each(t *testing.T, f func(t *testing.T, program string)) {
	t.Helper()
	for program := range appliers {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(program); err != nil {
				t.Skipf("there is no %s here", program)
			}
			f(t, program)
		})
	}
}

func TestProgramsTakeIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, program string) {
		for _, c := range []struct {
			path, old, modified string
			created             bool
		}{
			{"a", "one\ntwo\nthree\n", "one\n2\nthree\n", false},
			{"a", "one\ntwo", "one\ntwo\n", false},
			{"a", "one\ntwo\n", "one\ntwo", false},
			{"a", "one", "two", false},
			{"a", "one\r\ntwo\r\n", "one\r\n2\r\n", false},
			{"a", "one\r\ntwo\r\n", "one\ntwo\n", false},
			{"a", "", "x\n", false},
			{"a", "x\n", "", false},
			{"dir/new", "", "x\ny", true},
			{"with space", "a\n", "b\n", false},
			{"new with space", "", "b\n", true},
			{`quo"te\`, "a\n", "b\n", false},
			{"ünï", "a\n", "b\n", false},
			{"line\nbreak", "a\n", "b\n", false},
			{"a", strings.Repeat("same\n", 50) + "x\n" + strings.Repeat("same\n", 50), strings.Repeat("same\n", 49) + "y\n" + strings.Repeat("same\n", 52), false},
			{"a", "--- a\n+++ b\n", "@@ -1 +1 @@\n\\ No newline\n", false},
		} {
			apply(t, program, Change{Path: c.path, Exists: !c.created, Old: []byte(c.old), New: []byte(c.modified)})
		}
	})
}

func TestProgramsTakeWhatIsDrawnAtRandom(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, program string) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		draw := rand.New(rand.NewPCG(seed, 0))
		text := func() string {
			var b strings.Builder
			for range draw.IntN(30) {
				fmt.Fprintf(&b, "%d\n", draw.IntN(5))
			}
			return b.String()[:max(0, b.Len()-draw.IntN(2))]
		}
		for range 40 {
			c := Change{Path: "a", Exists: true, Old: []byte(text()), New: []byte(text())}
			if !bytes.Equal(c.Old, c.New) {
				apply(t, program, c)
			}
		}
	})
}
