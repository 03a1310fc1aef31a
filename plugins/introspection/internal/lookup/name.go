package lookup

import (
	"fmt"
	"go/token"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/gocode"
)

// parsed is one way to parse a symbol's name: members leads from the name to a method or
// field, through fields whose types have no names; pkg is empty if the name has no
// package.
type parsed struct {
	pkg, name string
	members   []string
}

func (p parsed) symbol() string { return strings.Join(append([]string{p.name}, p.members...), ".") }

// maxMembers is how far a name may lead into a symbol, as in T.field.field.
const maxMembers = 8

// parseName returns all ways to parse a symbol's name: "a.B" may be B of package a or
// the member B of type a, and a dot may be part of an import path. It drops what Go
// writes around a receiver, as in (*T[K]).M.
func parseName(symbol string) ([]parsed, error) {
	plain := strings.NewReplacer("(", "", ")", "", "*", "", " ", "").Replace(withoutBrackets(symbol))
	slash := strings.LastIndex(plain, "/") + 1
	dir, parts := plain[:slash], strings.Split(plain[slash:], ".")
	if slices.Contains(parts, "") {
		return nil, notASymbol(symbol)
	}
	var out []parsed
	for at := len(parts) - 1; at >= max(0, len(parts)-1-maxMembers); at-- {
		p := parsed{pkg: dir + strings.Join(parts[:at], "."), name: parts[at], members: parts[at+1:]}
		if p.valid() {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil, notASymbol(symbol)
	}
	for _, p := range out {
		if err := gocode.CheckPackage(p.pkg); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func notASymbol(text string) error {
	return fmt.Errorf("%q does not name a symbol; write Name, pkg.Name, Type.Method, pkg.Type.Method or Type.field, "+
		"such as fmt.Println or net/http.Client.Do", text)
}

func (p parsed) valid() bool {
	return token.IsIdentifier(p.name) && !strings.HasSuffix(p.pkg, "/") &&
		!slices.ContainsFunc(p.members, func(m string) bool { return !token.IsIdentifier(m) })
}

// withoutBrackets drops type arguments.
func withoutBrackets(s string) string {
	var out strings.Builder
	depth := 0
	for _, r := range s {
		switch {
		case r == '[':
			depth++
		case r == ']' && depth > 0:
			depth--
		case depth == 0:
			out.WriteRune(r)
		}
	}
	return out.String()
}
