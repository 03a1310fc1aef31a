package schema

import "errors"

// ErrBudget says that a schema was not compiled, as those before it have used up what
// there is for all of them.
var ErrBudget = errors.New("the schemas are too large together")

// Budget bounds what it costs to compile several schemas of one origin. The zero value
// is spent, and nil has no bound. It is used by one goroutine at a time.
type Budget struct{ left int }

// What compiling costs beside subschemas, each of which takes some 30 µs and 2 KiB.
const (
	costBytes   = 512 // of text, which is kept several times
	costProgram = 5   // instructions of patterns
	costParsing = 3   // steps of parsing these
)

// NewBudget is one of so many subschemas, or as much work and memory as these take.
func NewBudget(subschemas int) *Budget { return &Budget{left: subschemas} }

// spend reports whether there was as much.
func (b *Budget) spend(cost int) bool {
	if b == nil {
		return true
	}
	b.left -= cost
	return b.left >= 0
}
