package program

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Report is what a program reported.
type Report struct {
	Began, Ended bool // the form, after the package's initialization
	Values       []Value
	crash        string
}

// Value is a value as the program printed it.
type Value struct {
	Type   string // its dynamic type
	Syntax string // in Go syntax
	Text   string // what its Error or String method returned
}

// Bounds of what is read, in bytes.
const (
	maxReport = 8 << 20
	maxCrash  = 64 << 10
)

// ReadReport reads the report that a program left in a directory.
func ReadReport(dir *os.Root) Report {
	var out Report
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
			out.Began = true
		case "end":
			out.Ended = true
		case "value":
			if words := unquoteAll(rest); len(words) == 3 && len(out.Values) < maxValues {
				out.Values = append(out.Values, Value{words[0], words[1], words[2]})
			}
		}
	}
	out.crash = readCrash(dir)
	return out
}

// openReport opens a file that the program may have replaced by something else.
func openReport(dir *os.Root, name string) (*os.File, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a named pipe would block
		return nil, errors.New("not a regular file")
	}
	return dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have been replaced since
}

func readCrash(dir *os.Root) string {
	f, err := openReport(dir, crashFile)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	text, _ := io.ReadAll(io.LimitReader(f, maxCrash))
	return string(text)
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
