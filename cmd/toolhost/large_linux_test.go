package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// memory is what a process has and what it had at most, in bytes.
func (s *serving) memory() (now, most int) {
	s.w.t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(s.cmd.Process.Pid) + "/status")
	if err != nil {
		s.w.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		switch fields[0] {
		case "VmRSS:":
			now, _ = strconv.Atoi(fields[1])
		case "VmHWM:":
			most, _ = strconv.Atoi(fields[1])
		}
	}
	return now << 10, most << 10
}

// counter keeps the ends of what is written, and how much that was.
type counter struct {
	n    int
	head bytes.Buffer
	tail []byte
}

func (c *counter) Write(b []byte) (int, error) {
	c.n += len(b)
	c.head.Write(b[:min(len(b), max(0, 200-c.head.Len()))])
	c.tail = append(c.tail, b...)
	c.tail = c.tail[max(0, len(c.tail)-400):]
	return len(b), nil
}

// An answer of control characters, which are six bytes each in JSON, costs the daemon no
// more than three times its size and is given back; nor do commands take much more. With -short, only
// what is answered is looked at, and less of it: to take GiB of memory is for .ci/long.
func TestLargeAnswer(t *testing.T) {
	t.Parallel()
	size := 60 << 20
	if testing.Short() {
		size = 2 << 20
	}
	for as, texts := range map[string]int{"result": 1, "is_error": 2} {
		t.Run(as, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "player")
			s := w.serve()
			w.run("call", "play.echo").exits(0) // the plugin runs
			before, _ := s.memory()
			call := func(more ...string) {
				cmd := w.measured(w.command(append([]string{
					"call", "play.large", fmt.Sprintf(`{"text":"\u0001","times":%d,"as":%q}`, size, as), "--json", "--plugin-dir", w.plugins,
				}, more...)...))
				var out counter
				var most strings.Builder
				cmd.Stdout, cmd.Stderr = &out, &most
				_ = cmd.Run() // the status tells
				equal(t, "the status", cmd.ProcessState.ExitCode(), texts-1)
				if out.n < texts*6*size || !strings.Contains(out.head.String(), `"content": "\u0001\u0001`) || !strings.Contains(string(out.tail), `\u0001"`) ||
					!strings.HasSuffix(string(out.tail), "}\n}\n") {
					t.Errorf("it prints %d bytes: %q ... %q", out.n, out.head.String(), out.tail)
				}
				if used, err := strconv.Atoi(strings.TrimSpace(most.String())); err != nil || used<<10 > 15*size && !testing.Short() {
					t.Errorf("the command %q took %d MiB for an answer of %d MiB", more, used>>10, size>>20)
				}
			}
			call()
			if testing.Short() {
				return
			}
			if _, most := s.memory(); most > before+3*size {
				t.Errorf("the daemon went from %d to %d MiB for an answer of %d MiB", before>>20, most>>20, size>>20)
			}
			require.Eventually(t, "the daemon gives back what an answer took", func() bool {
				now, _ := s.memory()
				return now <= before+size/2
			})
			call("--no-daemon")
		})
	}
}
