package pluginrun

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
)

// talker is a process that does not run.
func talker(log io.Writer) *process {
	return newProcess(plugin.Candidate{Name: "talker"}, Config{
		Logger: hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Debug}),
	})
}

// A long panic trace comes through at once, whole, and into the log.
func TestHonestOutputIsNotHeldUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var text, log bytes.Buffer
		const lines = 5000
		for i := range lines {
			fmt.Fprintf(&text, "goroutine %d: main.handler.func%d(0xc000012345, 0xc000067890)\n", i, i)
		}
		p := talker(&log).output
		begin := time.Now()
		p.readStderr(&text)
		if took := time.Since(begin); took > 0 {
			t.Errorf("a long trace took %v", took)
		}
		if n := strings.Count(log.String(), "main.handler"); n != lines {
			t.Errorf("%d lines in the log, want %d", n, lines)
		}
		assert.Equalf(t, p.limit.String(), "", "the operator is told")
	})
}

// endless is a flood, and how much of it was read.
type endless struct {
	line string
	read int
	stop <-chan struct{}
}

func (e *endless) Read(b []byte) (int, error) {
	select {
	case <-e.stop:
		return 0, io.EOF
	default:
	}
	for i := range b {
		b[i] = e.line[(e.read+i)%len(e.line)]
	}
	e.read += len(b)
	return len(b), nil
}

func TestFloodIsReadAtABoundedRate(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"short lines": "x\n",
		"JSON":        `{"@level":"info","@message":"x"}` + "\n",
		"no line":     "xxxxxxxx",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const seconds = 3
				stop := make(chan struct{})
				flood := &endless{line: line, stop: stop}
				time.AfterFunc(seconds*time.Second, func() { close(stop) })
				var log bytes.Buffer
				p := talker(&log).output
				p.readStderr(flood)
				if most := readBurst + (seconds+1)*readRate; flood.read > most {
					t.Errorf("%d bytes were read in %d s, want at most %d", flood.read, seconds, most)
				}
				if n, most := strings.Count(log.String(), "\n"), logBurst+(seconds+1)*logRate+1; n > most {
					t.Errorf("%d lines were logged in %d s, want at most %d", n, seconds, most)
				}
				if n := strings.Count(log.String(), "the plugin writes more than"); n != 1 {
					t.Errorf("the log says %d times that it is too much", n)
				}
				assert.Containsf(t, p.limit.String(), "slowed down", "the operator is told")
			})
		})
	}
}

// The same on go-plugin's own stream, and on ours.
func TestFloodOfTheStreamsIsSlowedDown(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(p *output) func(string){
		"go-plugin's": func(p *output) func(string) {
			l := newLineLogger(p)
			return func(s string) { _, _ = io.WriteString(l, s) }
		},
		"ours": func(p *output) func(string) { return func(s string) { p.pace(len(s)); p.logRecord("info", s, "", "") } },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				p := talker(&log).output
				f := write(p)
				begin := time.Now()
				const chunk, chunks = 1000, 3000
				for range chunks {
					f(strings.Repeat("x", chunk-1) + "\n")
				}
				if took, least := time.Since(begin), time.Duration(chunk*chunks-readBurst)*time.Second/readRate; took < least-shortest {
					t.Errorf("%d bytes took %v, want at least %v", chunk*chunks, took, least)
				}
			})
		})
	}
}

// What is in the pipe when a process ends is read at once, however slowly it was
// read until then.
func TestLastWordsAreNotHeldUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := talker(io.Discard).output
		r, w := io.Pipe()
		done := make(chan struct{})
		go func() { p.readStderr(r); close(done) }()
		for range 2 * readBurst / 1000 {
			_, _ = io.WriteString(w, strings.Repeat("x", 999)+"\n")
		}
		go func() {
			_, _ = io.WriteString(w, strings.Repeat("y", 4*readBurst)+"\nlast words\n")
			_ = w.Close()
		}()
		synctest.Wait() // it waits for its rate
		end := time.Now()
		p.limit.end()
		<-done
		if took := time.Since(end); took > 0 {
			t.Errorf("the rest took %v", took)
		}
		if last := p.stderr.last(); last != "last words" {
			t.Errorf("the last line is %q", last)
		}
	})
}
