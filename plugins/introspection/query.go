package main

import (
	"fmt"
	"go/token"
	"slices"
	"strings"
)

// reading is one way to understand a symbol's name: member is a method or
// field, and empty for the name itself; pkg is empty where none is named.
type reading struct {
	pkg, name, member string
}

func (r reading) symbol() string {
	if r.member != "" {
		return r.name + "." + r.member
	}
	return r.name
}

// readings are all ways to understand a symbol. "a.B" may be B of package a or
// the member B of type a; a dot may be part of an import path too. What Go
// writes around a receiver, as in (*T[K]).M, is dropped.
func readings(symbol string) ([]reading, error) {
	plain := strings.NewReplacer("(", "", ")", "", "*", "", " ", "").Replace(withoutBrackets(symbol))
	slash := strings.LastIndex(plain, "/") + 1
	dir, parts := plain[:slash], strings.Split(plain[slash:], ".")
	if slices.Contains(parts, "") {
		return nil, notASymbol(symbol)
	}
	var out []reading
	for members := range 2 {
		at := len(parts) - 1 - members // where the name is
		if at < 0 {
			continue
		}
		r := reading{pkg: dir + strings.Join(parts[:at], "."), name: parts[at]}
		if members == 1 {
			r.member = parts[at+1]
		}
		if r.valid() {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return nil, notASymbol(symbol)
	}
	for _, r := range out {
		if err := denied(r.pkg); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func notASymbol(text string) error {
	return fmt.Errorf("%q does not name a symbol; write Name, pkg.Name, Type.Method, pkg.Type.Method or Type.field, "+
		"such as fmt.Println or net/http.Client.Do", text)
}

func (r reading) valid() bool {
	return token.IsIdentifier(r.name) && (r.member == "" || token.IsIdentifier(r.member)) &&
		!strings.HasSuffix(r.pkg, "/")
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
