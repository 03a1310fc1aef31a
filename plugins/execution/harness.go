package main

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
)

// What a program tells of its form goes to files in a directory that a variable
// names, a line an entry, each a kind and quoted words. A program can write there
// what it likes: it deceives but its own caller.
const (
	reportVariable = "TOOLHOST_FORM_REPORT"
	markVariable   = "TOOLHOST_FORM"
	showFunc       = "toolhostShow"
	runFunc        = "ToolhostRun"
	valuesFile     = "values"
	crashFile      = "crash"
)

// harness is the part of each program that runs the form and reports. Its imports
// have names that the package will not have, and it needs no newer language than
// the oldest that modules use.
const harness = `
import (
	toolhostFmt "fmt"
	toolhostOS "os"
	toolhostDebug "runtime/debug"
)

var toolhostReport = toolhostOpen()

func toolhostOpen() *toolhostOS.File {
	dir := toolhostOS.Getenv("` + reportVariable + `")
	toolhostOS.Unsetenv("` + reportVariable + `")
	crash, err := toolhostOS.OpenFile(dir+"/` + crashFile + `", toolhostOS.O_CREATE|toolhostOS.O_WRONLY, 0600)
	if err == nil {
		toolhostDebug.SetCrashOutput(crash, toolhostDebug.CrashOptions{})
		crash.Close()
	}
	report, err := toolhostOS.OpenFile(dir+"/` + valuesFile + `", toolhostOS.O_CREATE|toolhostOS.O_WRONLY, 0600)
	if err != nil {
		return nil
	}
	return report
}

func toolhostCut(s string) string {
	if len(s) > toolhostMost {
		return toolhostFmt.Sprintf("%s\n[... %d more bytes truncated ...]", s[:toolhostMost], len(s)-toolhostMost)
	}
	return s
}

func toolhostShow(values ...interface{}) {
	for i, v := range values {
		if i == toolhostCount {
			return
		}
		text := ""
		switch v.(type) {
		case error, toolhostFmt.Stringer:
			text = toolhostCut(toolhostFmt.Sprintf("%v", v))
		}
		toolhostFmt.Fprintf(toolhostReport, "value %q %q %q\n", toolhostFmt.Sprintf("%T", v),
			toolhostCut(toolhostFmt.Sprintf("%#v", v)), text)
	}
}

func ToolhostRun() {
	toolhostFmt.Fprintf(toolhostReport, "begin\n")
	toolhostBody()
	toolhostFmt.Fprintf(toolhostReport, "end\n")
}
`

// maxValues is how many values of a form come back.
const maxValues = 64

// report is what a program told.
type report struct {
	began, ended bool
	values       []shown
	crash        string
}

// shown is a value as the program printed it.
type shown struct{ dynamic, syntax, text string }

// maxReport bounds what is read of what a program told, in bytes.
const maxReport = 8 << 20

func readReport(dir *os.Root) report {
	var out report
	f, err := openReport(dir, valuesFile)
	if err != nil {
		return out
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(io.LimitReader(f, maxReport))
	lines.Buffer(nil, maxReport)
	for lines.Scan() {
		kind, rest, _ := strings.Cut(lines.Text(), " ")
		switch kind {
		case "begin":
			out.began = true
		case "end":
			out.ended = true
		case "value":
			if words := unquoteAll(rest); len(words) == 3 && len(out.values) < maxValues {
				out.values = append(out.values, shown{words[0], words[1], words[2]})
			}
		}
	}
	out.crash = readCrash(dir)
	return out
}

func unquoteAll(text string) []string {
	var out []string
	for text != "" {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return nil
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return nil
		}
		out = append(out, word)
		text = strings.TrimPrefix(text[len(quoted):], " ")
	}
	return out
}
