package gotest

import (
	"bufio"
	"cmp"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/plugins/execution/internal/process"
	"github.com/toolhost/toolhost/plugins/execution/internal/stacks"
	"github.com/toolhost/toolhost/plugins/internal/truncate"
)

// test is a test that runs or has failed.
type test struct {
	name              string
	out               *process.Buffer
	crash             *strings.Builder // what the runtime printed at its end; nil: it did not crash
	places            []place          // that it named, the first ones
	position, message string           // of a report of the race detector
	raced             bool
	inRace, skipLine  bool // within a report of the race detector, and past a frame that is left out
	failed, passed    int  // how often: with -count a test runs several times
	childFailed       bool
	hasChildren       bool
	seconds           float64
}

// place is where a test said something.
type place struct {
	file    string // as it was printed
	line    int
	message string
}

// maxPlaces bounds how many places of a test are kept.
const maxPlaces = 32

func newTest(name string) *test { return &test{name: name, out: process.NewBuffer(maxTest)} }

var (
	failedAt = lazy.Regexp(`^\s*(\S.*\.go):(\d+): ?(.*)$`)
	// raceFrame is a place in a report of the race detector.
	raceFrame = lazy.Regexp(`^(\s+(\S.*\.go):(\d+)) \+0x[0-9a-f]+$`)
	marker    = lazy.Regexp(`^(=== (RUN|PAUSE|CONT|NAME|ATTR) |\s*--- (PASS|FAIL|SKIP): )`)
)

// crashes are the beginnings of the lines with which the runtime begins to end a program.
var crashes = []string{"panic: ", "fatal error: ", "SIGQUIT: quit", "unexpected fault address"}

// write takes a line, or a part of one, that a test printed.
func (t *test) write(line string, o Options) {
	if t.crash != nil {
		if room := maxCrash - t.crash.Len(); room > 0 {
			t.crash.WriteString(line[:min(len(line), room)])
		}
		return
	}
	for _, begin := range crashes {
		if strings.HasPrefix(line, begin) {
			t.crash = &strings.Builder{}
			t.crash.WriteString(line)
			return
		}
	}
	text := strings.TrimRight(line, "\n")
	if marker().MatchString(text) || text == strings.Repeat("=", 18) {
		t.inRace = t.inRace && text != strings.Repeat("=", 18)
		return
	}
	if strings.HasPrefix(text, "WARNING: DATA RACE") {
		t.raced, t.inRace = true, true
		t.setMessage("data race")
	}
	if t.inRace && t.inReport(text, o) {
		return
	}
	if strings.HasSuffix(text, ": race detected during execution of test") {
		return
	}
	t.findPlace(text)
	_, _ = t.out.Write([]byte(o.Scrub(raceFrame().ReplaceAllString(text, "$1")) + line[len(text):]))
}

// inReport takes a line of a report of the race detector. It returns true for a frame of
// the machinery of tests, which is left out with its place.
func (t *test) inReport(text string, o Options) bool {
	trimmed := strings.TrimSpace(text)
	if m := raceFrame().FindStringSubmatch(text); m != nil {
		if place, own := o.Place(m[2]); own && t.position == "" {
			t.position = place + ":" + m[3]
		}
		return t.skipLine
	}
	t.skipLine = strings.HasPrefix(trimmed, "testing.") || strings.HasPrefix(trimmed, "main.main()")
	return t.skipLine
}

// findPlace keeps where the test says something, and what: the text that follows if the
// line has none.
func (t *test) findPlace(text string) {
	if m := failedAt().FindStringSubmatch(text); m != nil && !strings.HasPrefix(strings.TrimSpace(text), "Error Trace:") {
		if len(t.places) < maxPlaces {
			line, _ := strconv.Atoi(m[2])
			t.places = append(t.places, place{file: m[1], line: line, message: brief(m[3])})
		}
		return
	}
	trimmed := strings.TrimSpace(text)
	if n := len(t.places); n > 0 && t.places[n-1].message == "" && !strings.HasPrefix(trimmed, "Error Trace:") {
		t.places[n-1].message = brief(strings.TrimPrefix(trimmed, "Error:"))
	}
}

// brief returns a text in one line of at most 300 bytes.
func brief(text string) string { return truncate.Counted(strings.Join(strings.Fields(text), " "), 300) }

// failedPlace returns the first place in the workspace that does not just log.
func (t *test) failedPlace(o Options) (position, message string) {
	for _, p := range t.places {
		if file, own := o.Place(p.file); own && !logs(p) {
			return file + ":" + strconv.Itoa(p.line), p.message
		}
	}
	return "", ""
}

// maxSource bounds how much of a source file is read, in bytes.
const maxSource = 4 << 20

// logs reports whether the source says Log at a place. What a test logs and what it fails
// with look the same.
func logs(p place) bool {
	f, err := os.Open(p.file)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	lines := bufio.NewScanner(io.LimitReader(f, maxSource))
	lines.Buffer(nil, maxSource)
	for n := 1; lines.Scan(); n++ {
		if n == p.line {
			return strings.Contains(lines.Text(), ".Log(") || strings.Contains(lines.Text(), ".Logf(")
		}
	}
	return false
}

func (t *test) setMessage(text string) {
	if t.message == "" {
		t.message = brief(text)
	}
}

// shown returns the output.
func (t *test) shown() string { return strings.Trim(t.out.String(), "\n") }

// reason returns why a test was skipped.
func (t *test) reason() string {
	if n := len(t.places); n > 0 {
		return t.places[n-1].message
	}
	return brief(t.shown())
}

// maxStack bounds the stacks of one failure, in bytes.
const maxStack = 6 << 10

// failure describes the test as one that failed, or had not ended when its test binary
// ended, if that has.
func (t *test) failure(path string, ended bool, o Options) Failure {
	f := Failure{Package: path, Test: t.name, Kind: "fail", Seconds: t.seconds, Output: t.shown()}
	switch {
	case t.crash != nil:
		t.addCrash(&f, o)
	case t.raced:
		f.Kind = "race"
	case t.failed == 0 && ended:
		f.Kind = "exit"
		t.setMessage("the test binary ended itself while this test ran; look for os.Exit and log.Fatal")
	case t.failed == 0:
		f.Kind = "unfinished"
		t.setMessage("the test had not ended when the time was over")
	}
	position, message := t.failedPlace(o)
	first, _, _ := strings.Cut(strings.TrimSpace(f.Output), "\n")
	f.Position = cmp.Or(f.Position, t.position, position)
	f.Message = cmp.Or(f.Message, t.message, message, brief(first))
	f.Failed, f.Passed = t.failed, t.passed
	return f
}

const timedOut = "test timed out after "

// addCrash adds what the runtime printed.
func (t *test) addCrash(f *Failure, o Options) {
	message, all := stacks.Parse(t.crash.String())
	message = strings.TrimSpace(strings.TrimPrefix(message, "panic: "))
	message = strings.Replace(message, " [recovered, repanicked]", "", 1)
	f.Kind = "panic"
	if strings.HasPrefix(message, timedOut) || strings.HasPrefix(message, "SIGQUIT") {
		f.Kind = "timeout"
	}
	if after, running, ok := strings.Cut(message, "\n\trunning tests:\n"); ok {
		message = after + "; running: " + strings.Join(strings.Split(strings.TrimSpace(running), "\n\t\t"), ", ")
	}
	if strings.HasPrefix(message, "SIGQUIT") {
		message = "the time of the call was over while this ran"
	}
	f.Message = truncate.Counted(o.Scrub(message), 1<<10)
	own := stacks.Own(all, func(f stacks.Frame) bool { _, own := o.Place(f.File); return own },
		func(f stacks.Frame) bool { return f.Func == "main.main" && f.File == "_testmain.go" })
	if f.Kind == "panic" && len(own) > 0 && own[0].ID != 0 && !strings.HasPrefix(message, "all goroutines") {
		own = own[:1] // the others do not matter
	}
	f.Position = ""
	for i := range own {
		for j := range own[i].Frames {
			frame := &own[i].Frames[j]
			place, isOwn := o.Place(frame.File)
			if isOwn && f.Position == "" {
				f.Position = place + ":" + strconv.Itoa(frame.Line)
			}
			frame.File = o.Scrub(frame.File)
		}
	}
	f.Stack = stacks.Text(own, maxStack)
}
