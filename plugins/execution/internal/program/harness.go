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
	toolhostReflect "reflect"
	toolhostDebug "runtime/debug"
	toolhostStrconv "strconv"
	toolhostUTF8 "unicode/utf8"
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
			toolhostCut(toolhostSyntax(v)), text)
	}
}

// toolhostSyntax writes a value in Go syntax, and slices of bytes that are text as text.
func toolhostSyntax(v interface{}) string {
	r := toolhostReflect.ValueOf(v)
	if r.Kind() == toolhostReflect.Slice && r.Type().Elem().Kind() == toolhostReflect.Uint8 {
		_, own := v.(toolhostFmt.GoStringer)
		if b := r.Bytes(); !own && toolhostIsText(b) {
			name := r.Type().String()
			if name == "[]uint8" {
				name = "[]byte"
			}
			return name + "(" + toolhostStrconv.Quote(string(b)) + ")"
		}
	}
	return toolhostTexts(toolhostFmt.Sprintf("%#v", v))
}

// toolhostTexts replaces the []uint8{0x61, ...} of text within a value.
func toolhostTexts(s string) string {
	const begin = "[]uint8{0x"
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		if s[i] == '"' || s[i] == '` + "`" + `' {
			quoted, err := toolhostStrconv.QuotedPrefix(s[i:])
			if err != nil {
				quoted = s[i:]
			}
			out, i = append(out, quoted...), i+len(quoted)
			continue
		}
		if i+len(begin) < len(s) && s[i:i+len(begin)] == begin {
			var b []byte
			j := i + len(begin) - 2
			for j+4 < len(s) && s[j:j+2] == "0x" {
				end := j + 2
				for end < len(s) && s[end] != ',' && s[end] != '}' {
					end++
				}
				n, err := toolhostStrconv.ParseUint(s[j+2:end], 16, 8)
				if err != nil {
					break
				}
				b, j = append(b, byte(n)), end
				if s[j] == ',' {
					j += 2
				}
			}
			if j < len(s) && s[j] == '}' && toolhostIsText(b) {
				out, i = append(append(append(out, "[]byte("...), toolhostStrconv.Quote(string(b))...), ')'), j+1
				continue
			}
		}
		out, i = append(out, s[i]), i+1
	}
	return string(out)
}

func toolhostIsText(b []byte) bool {
	if len(b) == 0 || !toolhostUTF8.Valid(b) {
		return false
	}
	for _, r := range string(b) {
		if !toolhostStrconv.IsPrint(r) && r != '\n' && r != '\r' && r != '\t' && r != 0x1b {
			return false
		}
	}
	return true
}

func ToolhostRun() {
	toolhostFmt.Fprintf(toolhostReport, "begin\n")
	toolhostBody()
	toolhostFmt.Fprintf(toolhostReport, "end\n")
}
`
