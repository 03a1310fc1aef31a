package lockfile

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/trusted"
)

// MaxSize bounds a file, in bytes: 4 MiB, which are some 15,000 plugins.
const MaxSize = 4 << 20

// format is the newest that is known.
const format = 1

// relock is the command that accepts what is there.
const relock = "toolhost plugins lock"

// maxVersion bounds a version, in bytes.
const maxVersion = 256

// SyntaxError is what is wrong with a file, and where.
type SyntaxError struct {
	File         string
	Line, Column int // from 1; columns in bytes
	Message      string
	// Hint says what to do.
	Hint string
}

// Error is the place, the message and the hint.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s (%s)", e.File, e.Line, e.Column, e.Message, e.Hint)
}

// Read reads a file. It is opened and read once, and nothing but a regular file is
// waited for. A file with anything wrong in it pins nothing: it is refused.
//
// # Errors
//
// [*SyntaxError] for its content. Otherwise those of [trusted.Read]: a missing file
// is [fs.ErrNotExist] and has the code not_found, a file that others may write
// permission_denied, one of more than [MaxSize] resource_exhausted, what cannot be
// read unavailable.
func Read(path string) (*Lock, error) {
	content, err := trusted.Read(path, MaxSize)
	if err != nil {
		return nil, err
	}
	return Parse(path, content)
}

// Parse reads the content of a file of that name, which is not opened.
//
// # Errors
//
// [*SyntaxError] for the first thing that is wrong.
func Parse(name string, content []byte) (*Lock, error) {
	p := &parser{file: name, lock: &Lock{Plugins: map[string]Entry{}}, seen: map[string]int{}}
	switch {
	case len(content) > MaxSize:
		return nil, p.wrong(0, "the file has more than %d bytes", MaxSize)
	case !utf8.Valid(content):
		return nil, p.wrong(0, "the file is not UTF-8 text")
	}
	text := string(content)
	for line := range strings.Lines(text) {
		p.line++
		if !strings.HasSuffix(line, "\n") {
			return nil, p.wrong(len(line), "the last line does not end: the file is cut off")
		}
		if err := p.read(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")); err != nil {
			return nil, err
		}
	}
	if err := p.end(); err != nil {
		return nil, err
	}
	return p.lock, nil
}

type parser struct {
	file string
	line int
	lock *Lock

	formatted bool
	seen      map[string]int // lines of facts
	order     []string       // of plugins
}

// wrong is the error at a column, from 0, of the line.
func (p *parser) wrong(column int, message string, args ...any) error {
	return &SyntaxError{
		File: p.file, Line: max(p.line, 1), Column: column + 1, Message: fmt.Sprintf(message, args...),
		Hint: "restore the file, or write it anew: " + relock,
	}
}

// read reads a line without its end.
func (p *parser) read(line string) error {
	if line == "" || strings.HasPrefix(line, "#") {
		return nil
	}
	first, rest, ok := strings.Cut(line, " ")
	if !p.formatted {
		return p.readFormat(first, rest)
	}
	if !ok || !isName(first) {
		return p.wrong(0, "expected a plugin's name, a fact and its value, got %s", sanitize.Quote(line, 60))
	}
	fact, value, _ := strings.Cut(rest, " ")
	at := len(first) + 1
	if before := p.seen[first+" "+fact]; before > 0 {
		return p.wrong(0, "%s of %s is there twice, first on line %d", sanitize.Quote(fact, 20), first, before)
	}
	e, known := p.lock.Plugins[first]
	if !known {
		p.order = append(p.order, first)
	}
	var problem string
	switch fact {
	case "binary":
		e.SHA256, problem = readDigest(value)
	case "definitions":
		e.Definitions, problem = readDigest(value)
	case "version":
		e.Version, problem = readVersion(value)
	default:
		return p.wrong(at, "unknown fact %s: there are binary, definitions and version", sanitize.Quote(fact, 20))
	}
	if problem != "" {
		return p.wrong(at+len(fact)+1, "%s of %s: %s", fact, first, problem)
	}
	p.seen[first+" "+fact] = p.line
	p.lock.Plugins[first] = e
	return nil
}

func (p *parser) readFormat(first, rest string) error {
	n, err := strconv.ParseUint(rest, 10, 31)
	switch {
	case first != "format" || err != nil:
		return p.wrong(0, "expected format %d, got %s: this is no lock file", format, sanitize.Quote(first+" "+rest, 60))
	case n > format:
		return &SyntaxError{
			File: p.file, Line: p.line, Column: len("format ") + 1, Message: fmt.Sprintf("format %d is newer than %d, the newest that is known here", n, format),
			Hint: "use the toolhost that wrote it, or write it anew: " + relock,
		}
	case n != format:
		return p.wrong(len("format "), "there is no format %d", n)
	}
	p.formatted = true
	return nil
}

// end looks for what is missing.
func (p *parser) end() error {
	if !p.formatted {
		return p.wrong(0, "the file is empty: there is no format")
	}
	for _, name := range p.order {
		for _, fact := range []string{"binary", "definitions", "version"} {
			if p.seen[name+" "+fact] == 0 {
				return p.wrong(0, "%s has no line %s: the file is cut off, or badly merged", name, fact)
			}
		}
	}
	return nil
}

func readDigest(value string) (digest, problem string) {
	digest, ok := strings.CutPrefix(value, digestPrefix)
	if !ok || !isDigest(digest) {
		return "", fmt.Sprintf("expected %s and 64 lower-case hexadecimal digits, got %s", digestPrefix, sanitize.Quote(value, 80))
	}
	return digest, ""
}

func readVersion(value string) (version, problem string) {
	version = value
	if strings.HasPrefix(value, `"`) {
		var err error
		if version, err = strconv.Unquote(value); err != nil {
			return "", "malformed quotes in " + sanitize.Quote(value, 80)
		}
	} else if !isPlain(value) {
		return "", "expected a version, in quotes if it has anything but letters, digits and ._+-, got " + sanitize.Quote(value, 80)
	}
	if len(version) > maxVersion || !utf8.ValidString(version) {
		return "", fmt.Sprintf("it has more than %d bytes, or is no UTF-8", maxVersion)
	}
	return version, ""
}

const digestPrefix = "sha256:"

func isPlain(version string) bool {
	return version != "" && strings.Trim(version, letters+"._+-") == ""
}
