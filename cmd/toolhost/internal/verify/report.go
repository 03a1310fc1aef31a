package verify

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Result is the outcome of a check.
type Result struct {
	ID      string  `json:"id"`
	Group   string  `json:"group"`
	Outcome Outcome `json:"outcome"`
	What    string  `json:"what"`
	// Why says what was found or, of a check that has passed, what it could not see.
	Why string `json:"why,omitempty"`
	// Do and See are set if something was found.
	Do   string        `json:"do,omitempty"`
	See  string        `json:"see,omitempty"` // docs/plugin-protocol.md#SECTION
	Took tool.Duration `json:"took"`
}

// Found reports whether the check has found something.
func (r Result) Found() bool { return r.Outcome == Fail || r.Outcome == Warn }

// Report is what was found in a plugin.
type Report struct {
	File    string   `json:"file"`
	Plugin  string   `json:"plugin,omitempty"` // the name that it gives itself
	Version string   `json:"version,omitempty"`
	SDK     string   `json:"sdk,omitempty"`
	Tools   int      `json:"tools"`
	Called  []string `json:"called"`         // the tools that were called
	Slow    []string `json:"slow,omitempty"` // those that some checks left out, as their calls took long
	Passed  int      `json:"passed"`
	Failed  int      `json:"failed"`
	Warned  int      `json:"warned"`
	Skipped int      `json:"skipped"`
	Checks  []Result `json:"checks"`
	// Stderr is the end of what the plugin wrote to standard error when a check failed first.
	Stderr string        `json:"stderr,omitempty"`
	Took   tool.Duration `json:"took"`
}

// protocolPage is the page in which the sections are.
const protocolPage = "docs/plugin-protocol.md"

func (r *Report) add(c Check, f finding, took time.Duration) {
	res := Result{
		ID: c.ID, Group: c.Group(), Outcome: f.outcome, What: c.What, Why: sanitize.Line(f.why, 1000), Took: tool.Duration(took),
	}
	switch f.outcome {
	case Pass:
		r.Passed++
	case Fail:
		r.Failed++
	case Warn:
		r.Warned++
	case Skip:
		r.Skipped++
	}
	if res.Found() {
		res.Do, res.See = c.Do, protocolPage+"#"+c.See
		if strings.Contains(f.why, notUTF8) {
			res.Do = "make each text UTF-8, also what a message quotes, and send other bytes as a resource"
		}
	}
	r.Checks = append(r.Checks, res)
}

// Summary is the counts on one line.
func (r *Report) Summary() string {
	return fmt.Sprintf("%d checks: %d passed, %d failed, %d warnings, %d skipped", len(r.Checks), r.Passed, r.Failed, r.Warned, r.Skipped)
}

// The elements of a JUnit report.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Name    string       `xml:"name,attr"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitMessage `xml:"failure,omitempty"`
		Skipped *junitMessage `xml:"skipped,omitempty"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the report as JUnit's XML: a suite for each group. A warning is a test that
// has passed, with an output.
func (r *Report) WriteJUnit(w io.Writer) error {
	out := junitSuites{Name: "toolhost dev verify " + sanitize.Line(r.File, 0)}
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
	var took time.Duration
	for _, c := range r.Checks {
		if n := len(out.Suites); n == 0 || out.Suites[n-1].Name != c.Group {
			out.Suites, took = append(out.Suites, junitSuite{Name: c.Group}), 0
		}
		suite := &out.Suites[len(out.Suites)-1]
		took += time.Duration(c.Took)
		suite.Tests, suite.Time = suite.Tests+1, seconds(took)
		one := junitCase{Class: "plugin." + c.Group, Name: c.ID, Time: seconds(time.Duration(c.Took))}
		switch c.Outcome {
		case Fail:
			suite.Failures++
			one.Failure = &junitMessage{Message: c.Why, Text: c.Do + " (" + c.See + ")"}
		case Skip:
			suite.Skipped++
			one.Skipped = &junitMessage{Message: c.Why}
		case Warn:
			one.Out = "warning: " + c.Why + "\n" + c.Do + " (" + c.See + ")"
		case Pass:
		}
		suite.Cases = append(suite.Cases, one)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
