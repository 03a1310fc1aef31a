package program

// A program reports on its form in files of a directory that a variable names:
// a line for each entry, with a kind and quoted words. It can write anything
// there, which deceives only its own caller.
const (
	// ReportVariable is the environment variable that names the directory.
	ReportVariable = "TOOLHOST_FORM_REPORT"
	valuesFile     = "values"
	crashFile      = "crash"
)

// Bounds of what a program reports.
const (
	maxValues = 64
	// MaxValue bounds one value, in bytes.
	MaxValue = 16 << 10
)

// harness is the part of each program that runs the form and reports. Its imports
// have names that the package will not use, and it compiles in the oldest version
// of the language that modules use.
const harness = `
import (
	toolhostFmt "fmt"
	toolhostOS "os"
	toolhostDebug "runtime/debug"
)

var toolhostReport = toolhostOpen()

func toolhostOpen() *toolhostOS.File {
	dir := toolhostOS.Getenv("` + ReportVariable + `")
	toolhostOS.Unsetenv("` + ReportVariable + `")
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
