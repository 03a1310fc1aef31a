package main

import (
	"bytes"
	"regexp"
	"strconv"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// maxAtStart bounds what packages allocate before main begins, each time the command is started: a fiftieth
// more than was measured, of which two fifths are jsonschema/v5's. A regular expression is 50 and more.
const maxAtStart = 21_000

func TestAllocationsBeforeMain(t *testing.T) {
	t.Parallel()
	cmd := newWorld(t).command("version")
	cmd.Env = append(cmd.Env, "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err)
	if _, after, ok := bytes.Cut(out, []byte("internal/collect ")); !ok || !bytes.Contains(after, []byte("jsonschema/v5 ")) {
		t.Errorf("garbage is collected before main\n%s", out)
	}
	sum := 0
	for _, m := range regexp.MustCompile(`(?m)^init .* (\d+) allocs$`).FindAllSubmatch(out, -1) {
		sum += require.Must(strconv.Atoi(string(m[1])))(t)
	}
	if sum == 0 || sum > maxAtStart {
		t.Errorf("%d allocations before main, expected at most %d\n%s", sum, maxAtStart, out)
	}
}
