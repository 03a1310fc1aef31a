package tools

import (
	"go/ast"
	"go/token"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// number reads a setting of the environment.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s is %q, not a number", name, text)
	}
	return n
}

// On a third-party module the tools answer what gopls answers, for symbols
// drawn at random.
//
// TOOLHOST_GOPLS_SYMBOLS is how many are drawn, TOOLHOST_GOPLS_SEED repeats a draw.
func TestAnswersAsGopls(t *testing.T) {
	t.Parallel()
	n := int(number(t, "TOOLHOST_GOPLS_SYMBOLS", 0))
	if n == 0 {
		t.Skip("make gopls runs this: gopls takes minutes to build")
	}
	seed := number(t, "TOOLHOST_GOPLS_SEED", uint64(time.Now().UnixNano()))
	root := thirdParty(t)
	c := takeCensus(t, root)
	t.Logf("%s@%s: %d lines, %d symbols; TOOLHOST_GOPLS_SEED=%d draws %d", goplsModule, goplsModuleTag, c.lines, len(c.found), seed, n)
	if c.lines < 20_000 {
		t.Errorf("the module has %d lines, want 20,000", c.lines)
	}
	j := &judge{
		T: t, bench: open(t, root), gopls: startGopls(t, root), census: c, parsed: map[string]*ast.File{}, fset: token.NewFileSet(),
	}
	drawn := c.draw(rand.New(rand.NewPCG(seed, 0)), n)
	right := 0
	kinds := map[string]int{}
	for _, s := range drawn {
		for _, kind := range s.kinds {
			kinds[kind]++
		}
		if faults := j.check(s); len(faults) > 0 {
			slices.Sort(faults)
			t.Errorf("%s %s.%s at %s (%s):\n\t%s", s.sort, s.pkg, s.symbol, s.at, strings.Join(s.kinds, ", "), strings.Join(faults, "\n\t"))
		} else {
			right++
		}
	}
	for _, kind := range kindsDrawn {
		if kinds[kind] == 0 {
			t.Errorf("no symbol of the kind %q was drawn", kind)
		}
	}
	t.Logf("%d of %d right; %v", right, len(drawn), kinds)
}
