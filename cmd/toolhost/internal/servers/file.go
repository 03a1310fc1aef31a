package servers

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/trusted"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxFile bounds a file, in bytes: 8 MiB, as Claude Code keeps more than servers in its own.
const maxFile = 8 << 20

// Content is a file that was read.
type Content struct {
	Path string // absolute
	Text []byte
}

// Read reads a file that the operator has named, if only its owner can have written it.
//
// # Errors
//
// Those of [trusted.Read].
func Read(path string) (Content, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Content{}, err
	}
	text, err := trusted.Read(abs, maxFile)
	return Content{abs, text}, err
}

// Digest identifies the content.
func (c Content) Digest() string {
	sum := sha256.Sum256(c.Text)
	return hex.EncodeToString(sum[:])
}

// File is a file of MCP servers, as another MCP client has it.
type File struct {
	Path string
	// Entries are in the order of the file.
	Entries []Entry
	// Warnings say what has no effect, a line each.
	Warnings []string
}

// Entry is one server, by the name that its tools have here.
type Entry struct {
	Name string
	// File is the file that has it, and From is FILE:LINE.
	File, From string
	// Server is how it is reached and run. With an error, it may be incomplete.
	Server config.Server
	// Err is why the entry cannot be used; nil: it can.
	Err error
}

// Base returns what a server of a name is, apart from what the file says of it.
type Base func(name string) config.Server

// Parse reads the content of a file: JSON with comments and trailing commas, with servers under
// mcpServers (Claude Desktop, Claude Code, Cursor and others) or servers (VS Code). An entry
// that is wrong has an error, and the others are as if it were not there.
//
// # Errors
//
// [tool.CodeInvalidArguments] if the file is not JSON, or has neither of the two. No error and
// no warning contains a value of the file.
func Parse(c Content, base Base) (*File, error) {
	path, content := c.Path, []byte(strings.TrimPrefix(string(c.Text), "\ufeff"))
	refused := func(line int, why, hint string) error {
		return tool.Errorf(tool.CodeInvalidArguments, "%s:%d: %s", path, line, why).At(callstage.Start).Try(hint)
	}
	if !utf8.Valid(content) {
		return nil, refused(1, "the file is not UTF-8", "save it as UTF-8")
	}
	if depth(content) > maxDepth {
		return nil, refused(1, fmt.Sprintf("the file has more than %d levels", maxDepth), "is it the right file?")
	}
	tree, err := hujson.Parse(content)
	if err != nil { // its text may have a value of the file
		line, column := 1, 1
		_, _ = fmt.Sscanf(err.Error(), "hujson: line %d, column %d", &line, &column)
		return nil, refused(line, fmt.Sprintf("the file is not JSON, from column %d on", column), "mend it there or shortly before")
	}
	top, ok := tree.Value.(*hujson.Object)
	if !ok {
		return nil, refused(1, "the file is not a JSON object", "is it the right file?")
	}
	r := &reader{path: path, content: content, base: base, names: map[string]string{}, file: &File{Path: path}}
	if !r.top(top) {
		return nil, refused(1, "the file has neither mcpServers nor servers",
			"name a file of Claude Desktop, Claude Code (.mcp.json), Cursor or VS Code (.vscode/mcp.json)")
	}
	return r.file, nil
}

// reader reads the tree of one file.
type reader struct {
	path    string
	content []byte
	base    Base
	names   map[string]string // as they are here, and as the file spells them
	file    *File
}

func (r *reader) warn(at *hujson.Value, format string, args ...any) {
	text := r.place(at) + ": " + fmt.Sprintf(format, args...)
	r.file.Warnings = append(r.file.Warnings, sanitize.Line(text, 0))
}

func (r *reader) place(at *hujson.Value) string {
	return fmt.Sprintf("%s:%d", r.path, 1+strings.Count(string(r.content[:at.StartOffset]), "\n"))
}

// top reads the servers of a file, and reports whether it has any place for them.
func (r *reader) top(top *hujson.Object) (found bool) {
	var unknown []string
	for i := range top.Members {
		m := &top.Members[i]
		switch name := nameOf(m); name {
		case "mcpServers", "servers":
			found = true
			r.servers(&m.Value)
		case "mcp": // of VS Code's settings.json
			inner, ok := m.Value.Value.(*hujson.Object)
			found = ok && r.top(inner) || found
		case "inputs", "$schema":
		default:
			unknown = append(unknown, name)
		}
	}
	if n := len(unknown); n > 0 && found {
		slices.Sort(unknown)
		more := ""
		if unknown = unknown[:min(n, 3)]; n > 3 {
			more = fmt.Sprintf(" and %d more", n-3)
		}
		r.warn(&top.Members[0].Name, "no effect here: %s%s", shown(strings.Join(unknown, ", ")), more)
	}
	return found
}

func (r *reader) servers(v *hujson.Value) {
	all, ok := v.Value.(*hujson.Object)
	if !ok {
		r.warn(v, "the servers are not an object, so there are none")
		return
	}
	for i := range all.Members {
		m := &all.Members[i]
		spelled := nameOf(m)
		name := hostName(spelled)
		e := Entry{Name: name, File: r.path, From: r.place(&m.Name)}
		key := strings.ToLower(name)
		other, taken := r.names[key]
		switch {
		case name == "":
			r.warn(&m.Name, "the server %q is left out: its name has no letter or digit", shown(spelled))
			continue
		case taken:
			r.warn(&m.Name, "the server %q is left out: %q has its name already", shown(spelled), shown(other))
			continue
		case name != spelled:
			r.warn(&m.Name, "the server %q is called %s here", shown(spelled), name)
		}
		r.names[key] = spelled
		e.Server, e.Err = r.entry(name, &m.Value)
		r.file.Entries = append(r.file.Entries, e)
	}
}

func nameOf(m *hujson.ObjectMember) string {
	name, _ := m.Name.Value.(hujson.Literal)
	return name.String()
}

var notInName = lazy.Regexp(`[^A-Za-z0-9_-]+`)

// hostName returns the name of a server as the host takes it: letters, digits, _ and -, of
// which the first is a letter or digit. It is empty if nothing is left of the name.
func hostName(name string) string {
	name = strings.Trim(notInName().ReplaceAllString(name, "-"), "-_")
	return strings.TrimRight(name[:min(len(name), 64)], "-_")
}

func shown(text string) string { return sanitize.Line(text, 100) }

// maxDepth bounds how deep a file is nested.
const maxDepth = 200

// depth returns how deep brackets are nested. Those in comments count too.
func depth(content []byte) (most int) {
	open, quoted := 0, false
	for i := 0; i < len(content); i++ {
		switch c := content[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
			quoted = c != '\n' // a quote in a comment ends with its line
		case c == '{' || c == '[':
			open++
			most = max(most, open)
		case c == '}' || c == ']':
			open--
		}
	}
	return most
}
