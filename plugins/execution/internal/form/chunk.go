package form

import (
	"go/scanner"
	"go/token"
)

// chunk is the text between two semicolons outside of all brackets.
type chunk struct {
	start, end int
	declares   bool
}

// headLength is how many tokens tell a declaration from a statement.
const headLength = 5

// split finds the declarations of a form: import, package, named functions and
// methods anywhere; type, var and const only before the first statement, because
// after it they may need what it defines.
func split(text string) []chunk {
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, 0) // the parser reports errors
	var out []chunk
	var head []token.Token // of the chunk, outside of brackets
	start, depth, stated := -1, 0, false
	finish := func(at int) {
		if start < 0 {
			return
		}
		keyword := declarationKeyword(head)
		anywhere := keyword == token.FUNC || keyword == token.IMPORT || keyword == token.PACKAGE
		c := chunk{start: start, end: at, declares: anywhere || keyword != token.ILLEGAL && !stated}
		stated = stated || !c.declares
		out = append(out, c)
		start, head = -1, nil
	}
	for {
		pos, tok, _ := s.Scan()
		at := file.Offset(pos)
		if tok == token.EOF {
			finish(len(text))
			return out
		}
		if tok == token.SEMICOLON && depth == 0 {
			finish(at)
			continue
		}
		if start < 0 {
			start = at
		}
		if depth == 0 && len(head) < headLength {
			head = append(head, tok)
		}
		switch tok {
		case token.LPAREN, token.LBRACK, token.LBRACE:
			depth++
		case token.RPAREN, token.RBRACK, token.RBRACE:
			depth = max(0, depth-1)
			if depth == 0 && len(head) < headLength {
				head = append(head, tok)
			}
		}
	}
}

// declarationKeyword returns the keyword of the declaration that begins with
// head, or [token.ILLEGAL] for a statement, such as the call of a function literal.
func declarationKeyword(head []token.Token) token.Token {
	is := func(i int, tok token.Token) bool { return i < len(head) && head[i] == tok }
	switch head[0] {
	case token.IMPORT, token.PACKAGE, token.TYPE, token.VAR, token.CONST:
		return head[0]
	case token.FUNC:
		isMethod := is(1, token.LPAREN) && is(2, token.RPAREN) && is(3, token.IDENT) &&
			(is(4, token.LPAREN) || is(4, token.LBRACK))
		if is(1, token.IDENT) || isMethod {
			return token.FUNC
		}
	}
	return token.ILLEGAL
}
