package schema

import "errors"

// ErrBudget reports that a schema was not compiled because the schemas before
// it have used up the budget.
var ErrBudget = errors.New("the schemas are too large together")

// Budget limits the cost of compiling several schemas of one origin. The zero
// value is used up; a nil Budget has no limit. A Budget must not be used
// concurrently.
type Budget struct{ left int }

// How much of each costs as much as one subschema, which takes about 30 µs and 2
// KiB.
const (
	costBytes   = 512 // bytes of text, which is stored several times
	costProgram = 5   // instructions of patterns
	costParsing = 3   // steps of parsing patterns
)

// ProviderBudget is the budget, in subschemas, for the tools of one provider, such as a plugin. It
// is ten for each of the most tools, and compiling so many takes half a second, or about three if v5 has to compile them
// at once, and some 250 MB.
const ProviderBudget = 100_000

// NewBudget returns a budget for the given number of subschemas, or for other
// work and memory of the same cost.
func NewBudget(subschemas int) *Budget { return &Budget{left: subschemas} }

// spend deducts a cost and reports whether the budget covered it.
func (b *Budget) spend(cost int) bool {
	if b == nil {
		return true
	}
	b.left -= cost
	return b.left >= 0
}
