// Command record runs a command and writes what it prints, with the moments, as an asciicast
// (version 2, which asciinema plays), and its last screen as an SVG. Run it in the repository's
// root, as make record does.
//
//	go run ./internal/record docs/demo bin/toolhost demo
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// The size of the terminal that is drawn, in characters, and of a character, in pixels.
const (
	columns     = 100
	cell        = 8.4
	lineHeight  = 19
	margin      = 16
	background  = "#16181d"
	foreground  = "#d8dee9"
	prompt      = "$ "
	escapeBegin = '\x1b'
)

// event is one piece of output, at a moment after the start.
type event struct {
	after time.Duration
	text  string
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: record NAME COMMAND [ARGUMENT]...")
		os.Exit(2)
	}
	if err := record(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func record(name string, words []string) error {
	events, err := run(words)
	if err != nil {
		return err
	}
	var cast, all strings.Builder
	for _, e := range events {
		all.WriteString(e.text)
	}
	lines := strings.Split(strings.TrimRight(all.String(), "\n"), "\n")
	head, err := json.Marshal(map[string]any{
		"version": 2, "width": columns, "height": len(lines), "title": strings.Join(words, " "),
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(&cast, "%s\n", head)
	for _, e := range events {
		line, err := json.Marshal([]any{e.after.Seconds(), "o", strings.ReplaceAll(e.text, "\n", "\r\n")})
		if err != nil {
			return err
		}
		fmt.Fprintf(&cast, "%s\n", line)
	}
	if err := os.WriteFile(name+".cast", []byte(cast.String()), 0o644); err != nil { //nolint:gosec // for all to read
		return err
	}
	return os.WriteFile(name+".svg", []byte(draw(lines)), 0o644) //nolint:gosec // for all to read
}

// run runs the command and returns what it prints, after the line that one types.
func run(words []string) ([]event, error) {
	cmd := exec.Command(words[0], words[1:]...) //nolint:gosec // what is to be recorded
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	events := []event{{0, prompt + strings.Join(words, " ") + "\n"}}
	buffer := make([]byte, 64<<10)
	for {
		n, err := out.Read(buffer)
		if n > 0 {
			if bytes.ContainsRune(buffer[:n], escapeBegin) {
				return nil, fmt.Errorf("%s prints escape sequences, which the drawing does not have", cmd)
			}
			events = append(events, event{time.Since(begin), string(buffer[:n])})
		}
		if err == io.EOF {
			return events, cmd.Wait()
		}
		if err != nil {
			return nil, err
		}
	}
}

// draw draws lines of text. Longer ones go on in the next line, as on a terminal.
func draw(lines []string) string {
	var shown []string
	for _, line := range lines {
		runes := []rune(line)
		for len(runes) > columns {
			shown, runes = append(shown, string(runes[:columns])), runes[columns:]
		}
		shown = append(shown, string(runes))
	}
	var b strings.Builder
	width, height := 2*margin+int(columns*cell), 2*margin+len(shown)*lineHeight
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", background)
	fmt.Fprintf(&b, `<g font-family="ui-monospace,Menlo,Consolas,monospace" font-size="14" fill="%s" xml:space="preserve">`+"\n", foreground)
	for i, line := range shown {
		fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text>`+"\n", margin, margin+(i+1)*lineHeight-5, html.EscapeString(line))
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}
