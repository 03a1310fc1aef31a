// One goroutine reads text here: the race detector would make it take a minute.

//go:build !race

package words

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
)

// A phrase is a pattern that no sentence of the project contains, and what to
// write instead.
type phrase struct {
	word    string // in lower case, in all that the pattern matches: it is found more quickly
	pattern *regexp.Regexp
	instead string
}

func phraseOf(word, pattern, instead string) phrase {
	return phrase{word, regexp.MustCompile(`(?i)` + pattern), instead}
}

var phrases = []phrase{
	phraseOf(" no ", `\b(is|are|was|were) no [a-z]`, "is not a …, has no …"),
	phraseOf("body", `\b(nobody|somebody)\b`, "the actor by name, or the passive"),
	phraseOf("where ", `\bwhere (there|it) (is|are|was|were)\b`, "if"),
	phraseOf("beside", `\bbeside\b`, "next to, besides, in addition to"),
	phraseOf("behind ", `\bbehind (it|them|that|this|the (first|last|call|others))\b`, "after"),
	phraseOf("anew", `\banew\b`, "again"),
	phraseOf("otherwise than", `\botherwise than\b`, "differently from"),
	phraseOf(" into", `\bbelongs? into\b`, "belongs in"),
	phraseOf("what came of", `\bwhat came of\b`, "the outcome of"),
	{"who ", regexp.MustCompile(`(^|[.;:] )Who [a-z]+s\b[^?]*$`), "a subject: callers that …"},
}

// idiom matches what the phrases would also find and may stay.
var idiom = regexp.MustCompile(`(?i)\b(there (is|are|was|were) no|no longer)\b`)

// names were removed, each for the term on its right.
var names = map[string]string{
	"mourn":     "recordExit",
	"bury":      "onStreamFailed",
	"farewell":  "shutdown",
	"putToRest": "stopIdle",
	"pulse":     "health",
	"lay":       "build",
	"edition":   "description",
	"promise":   "lazyEntry",
	"universe":  "importer, program",
	"ruling":    "overridesMu",
	"Succeed":   "HandOver",
}

// A finding is one phrase or name, and where it is.
type finding struct {
	line          int
	found, remedy string
}

func (f finding) String() string {
	return fmt.Sprintf("line %d: %q: write %s", f.line, f.found, f.remedy)
}

// inText finds phrases in prose, line by line.
func inText(text string, line int) []finding {
	lower := strings.ToLower(text)
	var likely []phrase
	for _, p := range phrases {
		if strings.Contains(lower, p.word) {
			likely = append(likely, p)
		}
	}
	if len(likely) == 0 {
		return nil
	}
	var out []finding
	for i, l := range strings.Split(text, "\n") {
		l = idiom.ReplaceAllString(l, "")
		for _, p := range likely {
			if m := p.pattern.FindString(l); m != "" {
				out = append(out, finding{line + i, m, p.instead})
			}
		}
	}
	return out
}

// inGo finds phrases in the comments and string literals of a Go file, and
// removed names among those that it declares.
func inGo(name string, src []byte) ([]finding, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out []finding
	for _, group := range file.Comments {
		for _, c := range group.List {
			out = append(out, inText(strings.TrimLeft(c.Text, "/* "), files.Position(c.Pos()).Line)...)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				out = append(out, inText(n.Value, files.Position(n.Pos()).Line)...)
			}
		case *ast.FuncDecl:
			out = append(out, inName(files, n.Name)...)
		case *ast.TypeSpec:
			out = append(out, inName(files, n.Name)...)
		case *ast.Field:
			out = append(out, inName(files, n.Names...)...)
		case *ast.ValueSpec:
			out = append(out, inName(files, n.Names...)...)
		}
		return true
	})
	return out, nil
}

func inName(files *token.FileSet, declared ...*ast.Ident) []finding {
	var out []finding
	for _, id := range declared {
		if term, ok := names[id.Name]; ok {
			out = append(out, finding{files.Position(id.Pos()).Line, id.Name, term})
		}
	}
	return out
}
