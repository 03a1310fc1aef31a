package auditindex

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

var begin = time.Date(2026, 3, 1, 11, 50, 0, 0, time.UTC)

func pick[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

// record makes one of many that differ.
func record(r *rand.Rand, i int) audit.Record {
	took := tool.Duration(float64(50*time.Microsecond) * (1 + r.ExpFloat64()*100*r.ExpFloat64()))
	e := audit.Record{
		Time: begin.Add(time.Duration(i) * time.Second), Event: audit.End, Call: fmt.Sprintf("run%d-%d", i/500, i), Session: fmt.Sprint("s", i/50),
		Caller: pick(r, "cli", "alice", "bob"), Tool: pick(r, "fs.read", "fs.write", "web.get", `odd"\tool`), Plugin: "fs", Client: pick(r, "", "claude-code 1.0"),
		Input: json.RawMessage(`{"path":"a \"quoted\" {file}"}`), Attempts: 1, Duration: took,
		Code: pick(r, "", "", "", tool.CodeCrashed, tool.CodeNotFound), Message: "a text \x1b[2J",
		Phases: &policy.Phases{Ran: took / 3, Queued: took / 2, BytesIn: r.IntN(100), BytesOut: r.IntN(10_000)},
	}
	switch r.IntN(20) {
	case 0:
		e.Event, e.Duration, e.Code, e.Phases = audit.Begin, 0, "", nil
	case 1:
		e.Time = e.Time.Add(-time.Duration(r.IntN(1e13))) // a clock that jumps
	case 2:
		e.Refusals, e.Code = r.IntN(50), tool.CodeResourceExhausted
	case 3:
		e.Tool = fmt.Sprint("unknown", i)
	case 4:
		e.Parent = fmt.Sprintf("run%d-%d", i/500, i-1)
	}
	return e
}

type world struct {
	t         *testing.T
	path, dir string
	opts      audit.Options
	n         int
	rand      *rand.Rand
	warnings  []string
	mu        sync.Mutex
}

func newWorld(t *testing.T, opts audit.Options) *world {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return &world{t: t, path: filepath.Join(t.TempDir(), "audit.jsonl"), dir: t.TempDir(), opts: opts, rand: rand.New(rand.NewPCG(seed, 1))}
}

func (w *world) write(n int) {
	w.t.Helper()
	f := require.Must(audit.Open(w.path, w.opts))(w.t)
	for range n {
		require.NoError(w.t, f.Write(record(w.rand, w.n)))
		w.n++
	}
	require.NoError(w.t, f.Close())
}

func (w *world) open(dir string, chunk int64) *Index {
	w.t.Helper()
	r := require.Must(audit.OpenReader(w.t.Context(), w.path))(w.t)
	w.t.Cleanup(r.Close)
	x := require.Must(Open(w.t.Context(), w.path, r, Options{
		Dir: dir, least: 1, tail: 128 << 10, Progress: func(int64, int64) {}, chunk: chunk,
		Warn: func(s string) { w.mu.Lock(); defer w.mu.Unlock(); w.warnings = append(w.warnings, s) },
	}))(w.t)
	w.t.Cleanup(x.Close)
	return x
}

// said are the warnings since the last time.
func (w *world) said() string {
	defer func() { w.warnings = nil }()
	return strings.Join(w.warnings, "\n")
}

func found(seq func(func(audit.Entry, error) bool)) string {
	var out []string
	for e, err := range seq {
		out = append(out, fmt.Sprint(e.Seq, e.Call, err))
	}
	return strings.Join(out, "\n")
}

func sums(w *world, x *Index, f audit.Filter, by []string) string {
	rows, bad, err := x.Sum(w.t.Context(), f, by)
	require.NoError(w.t, err)
	var out []string
	for _, r := range rows {
		out = append(out, fmt.Sprint(r.Values, r.Sum))
	}
	slices.Sort(out)
	return fmt.Sprint(bad, "\n", strings.Join(out, "\n"))
}

// same compares random questions to the index with those to the log alone.
func (w *world) same(x *Index) {
	w.t.Helper()
	r, none, ctx := w.rand, w.open("", chunk), w.t.Context()
	if len(x.segments) == 0 {
		w.t.Fatal("the index has no segment")
	}
	x.begins("run") // which reads all keys of each segment
	all := []string{"tool", "hour"}
	equal(w.t, "the sum of all", sums(w, x, audit.Filter{}, all), sums(w, none, audit.Filter{}, all))
	for range 5 {
		i := r.IntN(w.n)
		f := audit.Filter{
			Tool: pick(r, "", "", "fs.read", fmt.Sprint("unknown", i), `odd"\tool`), Caller: pick(r, "", "", "bob", "eve"),
			Code: pick(r, "", "", audit.CodeOK, tool.CodeCrashed, tool.CodeCanceled), Client: pick(r, "", "", "", "claude"),
			SlowerThan: pick(r, 0, 0, time.Millisecond, 100*time.Millisecond), Phase: pick(r, "", "", "", "queued", "ran", "host"), Text: pick(r, "", "", "", "QUOTED"),
		}
		if r.IntN(2) == 0 {
			f.Since = begin.Add(time.Duration(r.IntN(w.n)) * time.Second)
			f.Until = f.Since.Add(time.Duration(r.IntN(w.n)) * time.Second)
		}
		// A scan with Since stops where the clock seems to be before it for long, so it is filtered here.
		whole, want := f, []string{}
		whole.Since = time.Time{}
		for e, err := range audit.Search(ctx, w.path, whole) {
			if err != nil || !e.Time.Before(f.Since) {
				want = append(want, fmt.Sprint(e.Seq, e.Call, err))
			}
		}
		equal(w.t, fmt.Sprintf("what %+v finds", f), found(x.r.Search(ctx, f, x.Places(f)...)), strings.Join(want, "\n"))

		by := slices.DeleteFunc(slices.Clone(Columns()), func(string) bool { return r.IntN(3) > 0 })
		if r.IntN(2) == 0 {
			by = pick(r, []string{"tool", "caller"}, []string{"hour", "code"}, []string{"day"}, nil)
			f.Client, f.SlowerThan, f.Phase, f.Text = "", 0, "", ""
		}
		equal(w.t, fmt.Sprintf("the sum of %+v by %v", f, by), sums(w, x, f, by), sums(w, none, f, by))
		equal(w.t, fmt.Sprintf("the slowest of %+v", f), slowest(w, x, f), slowest(w, none, f))

		id := fmt.Sprintf("run%d-%d", i/500, i)
		equal(w.t, "the lines of "+id, records(x.r.Search(ctx, audit.Filter{Call: id}, x.find(keyOf(id), keyOf(id))...), id), records(audit.Search(ctx, w.path, audit.Filter{Call: id}), id))
		f = audit.Filter{Parent: id}
		equal(w.t, "the lines of calls in "+id, records(x.r.Search(ctx, f, x.find(keyOf(id), keyOf(id))...), ""), records(audit.Search(ctx, w.path, f), ""))
		f = audit.Filter{Call: id[:3+r.IntN(len(id)-3)]}
		equal(w.t, "the lines of "+f.Call, records(x.r.Search(ctx, f, x.begins(f.Call)...), ""), records(audit.Search(ctx, w.path, f), ""))
	}
}

// records are those of a call, or all, without lines that are not records.
func records(seq func(func(audit.Entry, error) bool), call string) string {
	return found(func(yield func(audit.Entry, error) bool) {
		for e, err := range seq {
			if err == nil && (call == "" || e.Call == call) && !yield(e, nil) {
				return
			}
		}
	})
}

func slowest(w *world, x *Index, f audit.Filter) string {
	all := require.Must(x.Slowest(w.t.Context(), f, 7))(w.t)
	var out []string
	for _, e := range all {
		out = append(out, fmt.Sprint(e.Seq, time.Duration(e.Duration)))
	}
	return strings.Join(out, " ")
}

func equal(t *testing.T, what, got, want string) {
	t.Helper()
	assert.Equalf(t, got, want, "%s", what)
}

// What the index answers is what the log says, while it grows and is rotated, with garbage in it and without.
func TestIndexEqualsScan(t *testing.T) {
	t.Parallel()
	w := newWorld(t, audit.Options{MaxSize: 700_000, Keep: 3})
	w.write(1200)
	for range 4 {
		w.same(w.open(w.dir, 300_000))
		w.write(50 + w.rand.IntN(1500))
	}
	equal(t, "what was said", w.said(), "")
	f := require.Must(os.OpenFile(w.path, os.O_APPEND|os.O_WRONLY, 0))(t)
	require.Must(f.WriteString("garbage\n{\"seq\":1}\n"))(t)
	require.NoError(t, f.Close())
	w.write(700)
	w.same(w.open(w.dir, 300_000))
	equal(t, "what was said", w.said(), "")
	left := require.Must(filepath.Glob(filepath.Join(w.dir, directoryName, "*")))(t)
	if len(left) > 20 { // 4 files in 3 chunks each at most, and the marker
		t.Errorf("%d files are left: %v", len(left), left)
	}
	whole := slices.SortedFunc(func(yield func(audit.Entry) bool) {
		for e, err := range audit.Search(t.Context(), w.path, audit.Filter{Events: []string{audit.End}}) {
			if err == nil && !yield(e) {
				return
			}
		}
	}, func(a, b audit.Entry) int {
		return cmp.Or(cmp.Compare(b.Duration, a.Duration), cmp.Compare(a.Seq, b.Seq))
	})
	for i, e := range require.Must(w.open(w.dir, 300_000).Slowest(t.Context(), audit.Filter{}, 7))(t) {
		equal(t, "the slowest", e.Call, whole[i].Call)
	}
}

// An index that is damaged, of another version or of another log is made again, and says so.
func TestIndexDamaged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, audit.Options{MaxSize: 400_000, Keep: -1})
	w.write(1500)
	w.open(w.dir, chunk).Close()
	files := require.Must(filepath.Glob(filepath.Join(w.dir, directoryName, "*-0")))(t)
	for round := range 12 {
		w.open(w.dir, chunk)
		file := pick(w.rand, files...)
		text := require.Must(os.ReadFile(file))(t)
		switch round {
		case 0:
			text[7]++ // the version
		case 1:
			text = nil
		case 2:
			text = text[:len(text)/2]
		default:
			text[w.rand.IntN(len(text))] ^= 1 << w.rand.IntN(8)
		}
		require.NoError(t, os.WriteFile(file, text, 0o600))
		w.same(w.open(w.dir, chunk))
		assert.Containsf(t, w.said(), "made again", "round %d: it says", round)
	}
	require.NoError(t, os.Truncate(w.path, 200_000)) // the record was cut
	w.same(w.open(w.dir, chunk))
	w.said()
	require.NoError(t, os.Remove(w.path)) // it was replaced
	for _, f := range require.Must(filepath.Glob(w.path + ".0*"))(t) {
		require.NoError(t, os.Remove(f))
	}
	w.n = 0
	w.write(800)
	w.same(w.open(w.dir, chunk))
	equal(t, "what was said", w.said(), "")
}

// Two ask at once while the log is written and rotated.
func TestIndexAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, audit.Options{MaxSize: 200_000, Keep: 3})
	w.write(500)
	var askers sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		askers.Go(func() {
			for more := true; more; {
				select {
				case <-done:
					more = false
				default:
				}
				x := w.open(w.dir, chunk)
				var calls int64
				rows, _, err := x.Sum(t.Context(), audit.Filter{}, nil)
				require.NoError(t, err)
				for _, r := range rows {
					calls += r.Sum[Calls]
				}
				want, n := 0, int64(0)
				for l, err := range x.r.Lines(t.Context(), audit.Filter{Events: []string{audit.End}}, w.all(x)...) {
					require.NoError(t, err)
					want, n = want+1, n+max(1, int64(l.Refusals))
				}
				if calls < n || want == 0 { // the other one may know of newer lines
					t.Errorf("%d calls, want %d", calls, n)
				}
			}
		})
	}
	for range 20 {
		w.write(200)
	}
	close(done)
	askers.Wait()
	w.same(w.open(w.dir, chunk))
	equal(t, "what was said", w.said(), "")
}

func (w *world) all(x *Index) (all []audit.Range) {
	for i, p := range x.r.Parts() {
		all = append(all, audit.Range{Part: i, To: p.Size})
	}
	return all
}

// Where nothing can be kept, the log is read.
func TestIndexUnwritable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, audit.Options{})
	w.write(1000)
	dir := filepath.Join(w.dir, "shared")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Chmod(dir, 0o777|fs.ModeSticky)) // others may write there
	x := w.open(dir, chunk)
	if s := w.said(); !strings.Contains(s, "read each time") || !strings.Contains(s, "others may write") {
		t.Errorf("it says %q", s)
	}
	equal(t, "the sum", sums(w, x, audit.Filter{}, nil), sums(w, w.open("", chunk), audit.Filter{}, nil))
}
