package config

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// parseTree reads the text of a file; nil: it has nothing but comments, or a problem was
// noted.
func parseTree(f *findings, content string) (tree *node) {
	defer func() {
		if recover() != nil { // a fault in the library
			f.add(place{1, 1}, "", "write it more plainly", "this is not YAML that can be read")
			tree = nil
		}
	}()
	tokens := joinTexts(lexer.Tokenize(content))
	if len(tokens) > maxTokens {
		at := placeOf(tokens[maxTokens])
		f.add(at, "", "is it the right file?", "the file has more than %d words and signs", maxTokens)
		return nil
	}
	if !f.checkTokens(tokens) {
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey()) // grow finds all of them
	if err != nil {
		f.addSyntax(err)
		return nil
	}
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil {
			bodies = append(bodies, doc.Body)
		}
	}
	switch len(bodies) {
	case 0:
		return nil
	case 1:
		g := &grower{findings: f, anchors: map[string]*node{}, left: maxNodes}
		tree = g.grow(bodies[0], place{1, 1}, 1)
		if g.full {
			return nil
		}
		return tree
	}
	f.add(placeOf(bodies[1].GetToken()), "", "keep one, and remove the line ---", "the file has several documents")
	return nil
}

// joinTexts makes one text of a:b in a list inside { }, such as {grants: [fs:read]}. YAML 1.2
// says so (7.3.3, plain style), and a list has no keys; the library takes it for a key and a
// value there, though nowhere else.
func joinTexts(tokens token.Tokens) token.Tokens {
	var out token.Tokens
	var open []token.Type
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			open = append(open, t.Type)
		case token.SequenceEndType, token.MappingEndType:
			open = open[:max(0, len(open)-1)]
		case token.MappingValueType:
			inList := len(open) > 0 && open[len(open)-1] == token.SequenceStartType
			if !inList || len(out) == 0 || i == len(tokens)-1 || !oneText(out[len(out)-1], t, tokens[i+1]) {
				break
			}
			i++
			before, after := out[len(out)-1], tokens[i]
			out[len(out)-1] = token.String(before.Value+":"+after.Value, before.Origin+t.Origin+after.Origin, before.Position)
			continue
		}
		out = append(out, t)
	}
	for i := 1; i < len(out); i++ {
		out[i-1].Next, out[i].Prev = out[i], out[i-1]
	}
	return out
}

// oneText reports whether a colon stands between two plain words, with no space.
func oneText(before, colon, after *token.Token) bool {
	at := placeOf(colon)
	return before.CharacterType != token.CharacterTypeIndicator && after.CharacterType != token.CharacterTypeIndicator &&
		placeOf(before) == place{at.line, at.column - utf8.RuneCountInString(before.Value)} &&
		placeOf(after) == place{at.line, at.column + 1}
}

// checkTokens notes directives, and what the library reads differently from other
// programs: as a key inside { }, it takes a:b for a key and a value, while YAML 1.2 (7.3.3,
// plain style) says that it is one text, and whoever writes it means either.
func (f *findings) checkTokens(tokens token.Tokens) bool {
	ok, depth := true, 0
	for i, t := range tokens {
		if depth = deeper(depth, t); depth > maxLevels { // before it is parsed: the time grows with the square of the depth
			f.add(placeOf(t), "", "make it simpler", "the file is nested deeper than %d levels", maxLevels)
			return false
		}
		if t.Type == token.DirectiveType {
			f.add(placeOf(t), "", "remove the line", "directives are not read")
			return false
		}
		if t.Type != token.MappingValueType || i == 0 || i == len(tokens)-1 {
			continue
		}
		before, after := tokens[i-1], tokens[i+1]
		next := place{placeOf(t).line, placeOf(t).column + 1}
		if !quoted(before) && after.CharacterType != token.CharacterTypeIndicator && placeOf(after) == next {
			hint := "quote it if it is one text, or put a space after the colon"
			f.add(placeOf(before), "", hint, "a:b inside { } can be read in two ways")
			ok = false
		}
	}
	return ok
}

// deeper returns how many brackets are open after a token, or how many dashes a line has.
func deeper(depth int, t *token.Token) int {
	switch t.Type {
	case token.SequenceEntryType, token.MappingKeyType:
		if t.Prev != nil && placeOf(t.Prev).line != placeOf(t).line {
			return 1 // a new line of a block, in which no bracket is open
		}
		return depth + 1
	case token.SequenceStartType, token.MappingStartType:
		return depth + 1
	case token.SequenceEndType, token.MappingEndType:
		return max(0, depth-1)
	}
	return depth
}

func quoted(t *token.Token) bool {
	return t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType
}

// addSyntax notes an error of the library.
func (f *findings) addSyntax(err error) {
	var at place
	message := err.Error()
	if located, ok := errors.AsType[yaml.Error](err); ok {
		message = located.GetMessage()
		if t := located.GetToken(); t != nil {
			at = placeOf(t)
		}
	}
	hint := "see https://yaml.org for the form, and quote text that has signs such as : # { [ in it"
	if strings.HasPrefix(f.src.lineAt(at), "\t") {
		message, hint = "a tab indents the line", "indent with spaces"
	}
	f.add(at, "", hint, "this is not YAML: %s", sanitize.Line(message, 200))
}

func (s *source) lineAt(at place) string { return s.lines[s.inside(at).line-1] }

func placeOf(t *token.Token) place {
	if t == nil || t.Position == nil {
		return place{1, 1}
	}
	return place{t.Position.Line, t.Position.Column}
}
