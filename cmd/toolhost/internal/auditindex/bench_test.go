package auditindex

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// linesVariable is how many lines the log of the benchmark has: 10000000 need 8 GB of disk.
const linesVariable = "TOOLHOST_BENCH_LINES"

// What questions to a large log cost: 10 million lines or fewer that end calls, within a week, of 20 tools and 8 callers.
func BenchmarkAsk(b *testing.B) {
	n := require.Must(strconv.Atoi(cmp.Or(os.Getenv(linesVariable), "20000")))(b)
	path, dir := filepath.Join(b.TempDir(), "audit.jsonl"), b.TempDir()
	f := require.Must(audit.Open(path, audit.Options{Keep: -1}))(b)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range n {
		e := record(r, i)
		e.Time = begin.Add(7 * 24 * time.Hour / time.Duration(n) * time.Duration(i))
		e.Event, e.Call, e.Parent = audit.End, fmt.Sprintf("n4k2hx7q-%d", i), "" // begin lines would be put on disk one by one
		kind := int(min(19, r.ExpFloat64()*5))
		e.Tool, e.Caller = fmt.Sprint("plugin.tool", kind), fmt.Sprint("caller", (kind+r.IntN(2))%8)
		e.Code = pick(r, "", "", "", "", "", "", "", "", "", "", tool.CodeCrashed, tool.CodePermissionDenied)
		require.NoError(b, f.Write(e))
	}
	require.NoError(b, f.Close())
	ask := func(name string, do func(*Index) int) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r := require.Must(audit.OpenReader(b.Context(), path))(b)
				x := require.Must(Open(b.Context(), path, r, Options{
					Dir: dir, Progress: func(int64, int64) {}, Warn: func(s string) { b.Error(s) },
				}))(b)
				if n := do(x); n == 0 {
					b.Error("nothing found")
				}
				x.Close()
				r.Close()
			}
		})
	}
	began := time.Now()
	ask("open", func(*Index) int { return 1 })
	b.Logf("the index was made within %v", time.Since(began))
	ask("sum", func(x *Index) int {
		rows, _, err := x.Sum(b.Context(), audit.Filter{}, []string{"tool", "caller", "code", "hour"})
		require.NoError(b, err)
		return len(rows)
	})
	day := audit.Filter{Since: begin.Add(50 * time.Hour), Until: begin.Add(74 * time.Hour)}
	ask("sum of a day", func(x *Index) int {
		rows, _, err := x.Sum(b.Context(), day, []string{"tool"})
		require.NoError(b, err)
		return len(rows)
	})
	ask("slowest of a day", func(x *Index) int { return len(require.Must(x.Slowest(b.Context(), day, 50))(b)) })
	ask("call", func(x *Index) (found int) {
		id := fmt.Sprintf("n4k2hx7q-%d", r.IntN(n))
		for e, err := range x.r.Search(b.Context(), audit.Filter{Call: id}, x.find(keyOf(id), keyOf(id))...) {
			require.NoError(b, err)
			if e.Call == id {
				found++
			}
		}
		return found
	})
	var size, log int64
	for _, file := range require.Must(filepath.Glob(filepath.Join(dir, directoryName, "*")))(b) {
		size += require.Must(os.Stat(file))(b).Size()
	}
	for _, file := range require.Must(filepath.Glob(path + "*"))(b) {
		log += require.Must(os.Stat(file))(b).Size()
	}
	b.Logf("%d lines of %d MiB, index %d MiB", n, log>>20, size>>20)
}
