package dev

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Kind is what an [Event] tells.
type Kind string

// The kinds of events.
const (
	Note        Kind = "note"         // Text is what the configuration requires, and a run leaves out
	Building    Kind = "building"     // Command runs
	BuildFailed Kind = "build_failed" // Text is what the command printed, and Error how it ended
	Unchanged   Kind = "unchanged"    // what was built is what is served
	Serving     Kind = "serving"      // Tools are served, and calls reach them by Connect
	NotServed   Kind = "not_served"   // Error says why what was built does not serve
	Needs       Kind = "needs"        // the plugin declares other needs than before, and has them now
	Log         Kind = "log"          // a line of the plugin
	Host        Kind = "host"         // a line of the host on the plugin
	Denied      Kind = "denied"       // what the sandbox denied
	Called      Kind = "call"         // a call of Tool has ended
	Answered    Kind = "answer"       // Text is what the call of --call returned
	Gone        Kind = "gone"         // the process PID, which the author started, has ended
	Ending      Kind = "ending"
)

// Event is what happens in a run, as programs read it. Members are left out that are empty.
type Event struct {
	Time    time.Time `json:"time"`
	Kind    Kind      `json:"event"`
	Plugin  string    `json:"plugin,omitempty"`
	Command string    `json:"command,omitempty"`
	Text    string    `json:"text,omitempty"`
	Level   string    `json:"level,omitempty"`
	PID     int       `json:"pid,omitempty"`
	Tools   []string  `json:"tools,omitempty"`
	// Connect are the flags by which other commands use this run.
	Connect []string `json:"connect,omitempty"`
	Tool    string   `json:"tool,omitempty"`
	Call    string   `json:"call,omitempty"`
	Caller  string   `json:"caller,omitempty"`
	// Outcome is ok, failed (the tool says so) or the code of an error.
	Outcome string `json:"outcome,omitempty"`
	// Duration is in milliseconds: of the build, the start or the call.
	Duration float64         `json:"duration_ms,omitempty"`
	Error    *output.Failure `json:"error,omitempty"`
	// Old reports that what was served before goes on serving.
	Old bool `json:"old_serves,omitempty"`
}

// teller prints events. It is safe for concurrent use.
type teller struct {
	mu       sync.Mutex
	out, err *output.Writer
	json     bool
}

// status shows how far a call is, on a terminal.
func (t *teller) status(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err.Status(line)
}

func (t *teller) tell(e Event) {
	e.Time = time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.json {
		text, err := json.Marshal(e)
		if err != nil {
			return // it has only texts and numbers
		}
		t.out.Line(text)
		return
	}
	t.err.Status("")
	head, body := e.lines()
	t.out.Printf("%s %-7s %s\n", e.Time.Local().Format("15:04:05"), e.word(), sanitize.Line(head, 0))
	for line := range strings.Lines(sanitize.Text(body)) {
		t.out.Printf("  %s\n", strings.TrimRight(line, "\n"))
	}
}

// word is what a line for people begins with.
func (e Event) word() string {
	switch e.Kind {
	case Building:
		return "build"
	case BuildFailed, NotServed:
		return "failed"
	case Unchanged, Serving:
		return "serving"
	}
	return string(e.Kind)
}

// lines returns the event for people: a line, and what follows.
func (e Event) lines() (head, body string) {
	took := time.Duration(e.Duration * float64(time.Millisecond)).Round(100 * time.Microsecond)
	old := ""
	if e.Old {
		old = "; the build before goes on serving"
	}
	switch e.Kind {
	case Building:
		return e.Command, ""
	case BuildFailed:
		return fmt.Sprintf("%s after %v%s", e.Error.Message, took, old), join(e.Text, e.Error.Hint)
	case NotServed:
		return e.Error.Message + old, join(e.Error.Detail, e.Error.Hint)
	case Unchanged:
		return e.Plugin + " goes on: the build has changed nothing", ""
	case Serving:
		how := fmt.Sprintf("built and started in %v", took)
		if e.Text != "" {
			how = fmt.Sprintf("%s process %d", e.Text, e.PID)
		}
		head = fmt.Sprintf("%s, %s: %s", e.Plugin, how, strings.Join(e.Tools, ", "))
		if len(e.Tools) == 0 {
			head += "no tools"
		}
		if len(e.Connect) > 0 {
			body = "from another terminal: toolhost call " + quoted(e.Connect) + " TOOL"
		}
		return head, body
	case Log:
		return fmt.Sprintf("%-5s %s", e.Level, e.Text), ""
	case Called:
		head = fmt.Sprintf("%s %v %s", e.Tool, took, e.Outcome)
		if e.Caller != "" {
			head += " (" + e.Caller + ")"
		}
		if e.Error != nil {
			head += ": " + e.Error.Message
		}
		return head, ""
	case Answered:
		return e.Tool + ": " + e.Outcome, e.Text
	}
	return e.Text, ""
}

func join(texts ...string) string {
	out := ""
	for _, t := range texts {
		if t != "" {
			out += strings.TrimRight(t, "\n") + "\n"
		}
	}
	return out
}

// quoted returns words as a shell takes them.
func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w
		if w == "" || strings.ContainsAny(w, " \t\n'\"\\$`*?[]{}()<>|&;~#!") {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// millis returns a duration as events have it.
func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// failureOf returns an error as events have it.
func failureOf(err error) *output.Failure {
	if err == nil {
		return nil
	}
	return new(output.FailureOf(err))
}

// outcomeOf names how a call has ended.
func outcomeOf(r tool.Result, err error) string {
	switch {
	case err != nil:
		return string(tool.CodeOf(err))
	case r.IsError:
		return "failed"
	}
	return "ok"
}
