package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/require"
)

// How long an answer on a large module may take with a warm build cache.
const (
	firstAnswer = 3 * time.Second
	nextAnswer  = 50 * time.Millisecond
	afterChange = time.Second
	// ceiling is how many times that a machine may take that does other things
	// too, and looks for races.
	ceiling = 20 * slowness
)

// questions are one of each kind, on packages in the middle of the module, whose
// change concerns most others.
var questions = []struct {
	tool string
	args any
}{
	{"describe_symbol", describeIn{Symbol: "btf.Spec"}},
	{"who_calls", callsIn{Function: "btf.Spec.TypeByName"}},
	{"class_hierarchy", hierarchyIn{Class: "btf.Type"}},
	{"list_package_symbols", listIn{Package: "btf"}},
	{"who_calls", callsIn{Function: "btf.Struct.TypeName"}},
	{"who_references", referencesIn{Variable: "btf.Struct.Members"}},
	{"apropos_search", aproposIn{Pattern: "TypeByName"}},
	{"function_arglist", arglistIn{Function: "btf.Spec.TypeByName"}},
	{"class_slots", slotsIn{Class: "btf.Struct"}},
	{"macroexpand_form", macroexpandIn{Form: "len(new(Struct).Members) + 1", Package: "btf"}},
}

// changedFile is edited between answers.
const changedFile = "btf/btf.go"

// edits changes a file over and over.
type edits struct {
	path  string
	plain []byte
	count int
}

func newEdits(t testing.TB, root string) *edits {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(changedFile))
	plain := require.Must(os.ReadFile(path))(t)
	return &edits{path: path, plain: plain}
}

// next gives the file another function, so that what it declares changes.
func (e *edits) next(t testing.TB) {
	t.Helper()
	e.count++
	require.NoError(t, os.WriteFile(e.path, fmt.Appendf(e.plain[:len(e.plain):len(e.plain)], "\nfunc edited%d() {}\n", e.count), 0o644))
}

func (b *bench) answer(t testing.TB, name string, args any) time.Duration {
	t.Helper()
	start := time.Now()
	res, err := b.call(t, t.Context(), name, args)
	took := time.Since(start)
	if err != nil || res.IsError {
		t.Fatalf("%s %+v: %v %s", name, args, err, res.Text())
	}
	return took
}

// Answers on a large module come in time, or at least in twenty times that,
// which a loaded machine keeps too. The benchmarks tell the times, and those of more questions.
func TestSpeed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 20 s: .ci/long runs it")
	}
	questions := questions[:3]
	root := thirdParty(t)
	warm := open(t, root)
	for _, q := range questions {
		warm.answer(t, q.tool, q.args)
	}
	file := newEdits(t, root)
	for _, q := range questions {
		b := open(t, root)
		for _, step := range []struct {
			name  string
			limit time.Duration
		}{{"first", firstAnswer}, {"next", nextAnswer}, {"after a change", afterChange}} {
			if step.limit == afterChange {
				file.next(t)
			}
			took := b.answer(t, q.tool, q.args)
			t.Logf("%s %+v, %s: %v", q.tool, q.args, step.name, took)
			if took > ceiling*step.limit {
				t.Errorf("%s %+v, %s: %v, want %v or at least %v", q.tool, q.args, step.name, took, step.limit, ceiling*step.limit)
			}
		}
	}
}

// each runs a benchmark for each question.
func each(b *testing.B, run func(b *testing.B, root, tool string, args any)) {
	root := thirdParty(b)
	open(b, root).answer(b, "who_calls", callsIn{Function: "btf.Spec.TypeByName"}) // warms the build cache
	for _, q := range questions {
		b.Run(fmt.Sprintf("%s%+v", q.tool, q.args), func(b *testing.B) { run(b, root, q.tool, q.args) })
	}
}

// report gives milliseconds, and the limit.
func report(b *testing.B, total, limit time.Duration) {
	b.ReportMetric(float64(total.Milliseconds())/float64(b.N), "ms/answer")
	b.ReportMetric(float64(limit.Milliseconds()), "ms-wanted")
}

// A plugin that was just started, with a warm build cache.
func BenchmarkFirstAnswer(b *testing.B) {
	each(b, func(b *testing.B, root, tool string, args any) {
		var total time.Duration
		for b.Loop() {
			total += open(b, root).answer(b, tool, args)
		}
		report(b, total, firstAnswer)
	})
}

// The same plugin once more.
func BenchmarkNextAnswer(b *testing.B) {
	each(b, func(b *testing.B, root, tool string, args any) {
		bench := open(b, root)
		bench.answer(b, tool, args)
		var total time.Duration
		for b.Loop() {
			total += bench.answer(b, tool, args)
		}
		report(b, total, nextAnswer)
	})
}

// The same plugin after a file of a package that others import was changed.
func BenchmarkAfterChange(b *testing.B) {
	each(b, func(b *testing.B, root, tool string, args any) {
		bench, file := open(b, root), newEdits(b, root)
		bench.answer(b, tool, args)
		var total time.Duration
		for b.Loop() {
			file.next(b)
			total += bench.answer(b, tool, args)
		}
		report(b, total, afterChange)
	})
}
