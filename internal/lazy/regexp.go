// Package lazy has what is made when it is first used: a program that ends soon does not make at its
// start what it will not use.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp compiles an expression when what it returns is first called. It panics there if it cannot.
func Regexp(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
