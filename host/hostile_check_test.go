package host_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/require"
)

// aboutCarriers has an attack tried on all of its carriers by day too.
func aboutCarriers(a attack) attack {
	a.each = true
	return a
}

// byDay is one of the carriers that an attack is tried on, the next one for the next attack of a
// table; all of them if it is about carriers, and in the long run. One that names none is tried on
// the default, and in the long run on the stream too.
func (a attack) byDay(turn int) []plugin.Carrier {
	switch {
	case a.on == nil && testing.Short():
		return []plugin.Carrier{""}
	case a.on == nil:
		return []plugin.Carrier{"", plugin.Stream}
	case a.each || !testing.Short():
		return a.on
	}
	return a.on[turn%len(a.on):][:1]
}

// together runs attacks side by side, so many at a time as wait more than they
// work, and looks for what they leave in this process. Tests that use it are not
// parallel: no other test's is counted.
func together(t *testing.T, atOnce int, attacks []attack) {
	t.Helper()
	before := measure()
	var all sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i, a := range attacks {
		name := a.name
		if name == "" {
			name = string(a.mode)
		}
		for _, carrier := range a.byDay(i) {
			name := name
			if carrier != "" {
				name += "/" + string(carrier)
			}
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				t.Run(name, func(t *testing.T) { strike(t, a, carrier) })
			})
		}
	}
	all.Wait()
	nothingLeft(t, before)
}

// resources are what this process has.
type resources struct {
	goroutines, files int
	heap              uint64
}

func measure() resources {
	runtime.GC()
	files, _ := os.ReadDir("/proc/self/fd")
	return resources{goroutines: runtime.NumGoroutine(), files: len(files), heap: heap()}
}

func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// maxHeapLeft is how much more memory may be in use than before: what the runtime,
// the tests' own buffers and pools keep.
const maxHeapLeft = 32 << 20

// nothingLeft waits until this process has no more than before.
func nothingLeft(t *testing.T, before resources) {
	t.Helper()
	what := fmt.Sprintf("there are no more than %d goroutines, %d descriptors and %d MiB", before.goroutines, before.files,
		(before.heap+maxHeapLeft)>>20)
	require.Eventually(t, what, func() bool {
		now := measure()
		return now.goroutines <= before.goroutines && now.files <= before.files && now.heap < before.heap+maxHeapLeft
	})
}

// peak tells how much more memory f took at its most, in bytes.
func peak(f func()) uint64 {
	runtime.GC()
	before := heap()
	var most atomic.Uint64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			most.Store(max(most.Load(), heap()))
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	f()
	close(stop)
	<-done
	return most.Load() - min(before, most.Load())
}

// marked are the processes that have a mark in their environment. It looks where
// /proc shows it.
func marked(mark string) []string {
	var out []string
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err == nil && bytes.Contains(env, []byte(mark+"\x00")) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
			out = append(out, fmt.Sprintf("%s %q", filepath.Dir(file), line))
		}
	}
	return out
}

// maxShown is how long anything may be that a plugin has a part in, in bytes.
const maxShown = 80 << 10

// shown reports whether a text is fit to be shown.
func shown(s string, lines bool) bool {
	bad := func(r rune) bool { return !unicode.IsPrint(r) && (!lines || r != '\n') }
	return len(s) <= maxShown && utf8.ValidString(s) && strings.IndexFunc(s, bad) < 0
}

// logbook looks at all that a host logs.
type logbook struct {
	mu    sync.Mutex
	bad   string
	lines atomic.Int64
	kept  []string // the first lines
}

func (l *logbook) logger() hclog.Logger {
	out := hclog.NewInterceptLogger(&hclog.LoggerOptions{Level: hclog.Off})
	out.RegisterSink(l)
	return out
}

// Accept implements [hclog.SinkAdapter].
func (l *logbook) Accept(name string, _ hclog.Level, msg string, args ...any) {
	l.lines.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, said := range append([]any{name, msg}, args...) {
		text := fmt.Sprint(said)
		if len(l.kept) < 1000 {
			l.kept = append(l.kept, text)
		}
		if l.bad == "" && !shown(text, i > 1) { // a value may have lines
			l.bad = text
		}
	}
}

// fault is the first line that was not fit to be shown.
func (l *logbook) fault() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bad
}

// says reports whether one of the first lines has a text.
func (l *logbook) says(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.kept {
		if strings.Contains(line, text) {
			return true
		}
	}
	return false
}
