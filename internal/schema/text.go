package schema

import (
	"encoding/json"
	"slices"
	"unicode/utf8"
	"unsafe"
)

// textJudge validates text while reading it, without decoding the value and
// without any allocation. It can only report that the text certainly fits.
// Everything else is left to v5, which can also say what is wrong.
//
// It embeds the parser, so that only one place defines what is valid JSON.
type textJudge struct {
	parser
	left effort
}

// effort is what the text judge may spend.
type effort struct{ evaluations, program int }

var (
	lightEffort = effort{lightEvaluations, lightProgram}
	heavyEffort = effort{maxAllEvaluations, maxProgram}
)

// Schemas may apply many subschemas to one value. A text that fits is read with
// far less than this, however small it is; others are left to v5, after the
// meter.
const (
	leastEvaluations   = 10_000
	evaluationsPerByte = 250
)

// within returns the effort for a text of some bytes, and whether that is less
// than e, so that more effort is not worthwhile.
func (e effort) within(bytes int) (effort, bool) {
	enough := leastEvaluations + evaluationsPerByte*bytes
	return effort{min(e.evaluations, enough), e.program}, enough < e.evaluations
}

func (e effort) spent() bool { return e.evaluations < 0 || e.program < 0 }

// instructionsPerEvaluation is the number of pattern instructions that cost as
// much as one evaluation.
const instructionsPerEvaluation = 4

// fitsText reports whether raw certainly fits the schema, and, if not, whether
// the effort was too small to find out.
func (s *Schema) fitsText(raw []byte, e effort, t *task) (fits, gaveUp bool) {
	// The text is read in place, and nothing of it is retained.
	text := unsafe.String(unsafe.SliceData(raw), len(raw))
	e, enough := e.within(len(raw))
	j := textJudge{parser{text: text, levels: maxValueLevels, task: t}, e}
	if s.role == input && j.peek() != '{' || !utf8.ValidString(j.text) || !j.fits(s.nodes[0], 0) {
		return false, j.left.program < 0 || j.left.evaluations < 0 && !enough
	}
	j.space()
	return j.pos == len(j.text), false
}

// fits reads the next value and reports whether it certainly fits n; a nil n
// accepts any value. If it returns false, the position is undefined.
func (j *textJudge) fits(n *node, level int) bool {
	if n == nil {
		n = unrestricted
	}
	r := n.rules
	if r == nil {
		return false
	}
	if j.left.evaluations -= n.work.lookUps; j.left.spent() || j.task.ended(1) {
		return false
	}
	if r.anyOf != nil {
		return j.fitsOne(r.anyOf, level)
	}
	if j.values++; j.values > maxValues {
		return false
	}
	switch c := j.peek(); c {
	case '{':
		return r.types&objectType != 0 && r.allowed == nil && j.fitsObject(r, level+1)
	case '[':
		return r.types&arrayType != 0 && r.allowed == nil && j.fitsArray(r, level+1)
	case '"':
		s, ok := j.str()
		return ok && r.types&stringType != 0 && r.allowText(s) && j.afford(r, s) && r.text(s)
	case 't':
		_, ok := j.word("true", true)
		return ok && r.types&booleanType != 0 && r.allow(true)
	case 'f':
		_, ok := j.word("false", false)
		return ok && r.types&booleanType != 0 && r.allow(false)
	case 'n':
		_, ok := j.word("null", nil)
		return ok && r.types&nullType != 0 && r.allow(nil)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		s, ok := j.literal()
		return ok && (r.allowed == nil || r.allow(json.Number(s))) && r.number(decimalOf(json.Number(s)))
	}
	return false
}

// unrestricted is the schema true.
var unrestricted = newUnrestricted()

func newUnrestricted() *node {
	n := &node{work: work{lookUps: 1}}
	n.rules = rulesOf(n, 0, nil)
	return n
}

// afford reports whether the effort covers matching s with the pattern.
func (j *textJudge) afford(r *rules, s string) bool {
	cost := r.pattern.program * len(s)
	j.left.program -= cost
	return j.left.program >= 0 && !j.task.ended(cost/instructionsPerEvaluation)
}

// fitsOne tries the nodes in turn on the next value until one accepts it.
func (j *textJudge) fitsOne(nodes []*node, level int) bool {
	for _, n := range nodes {
		again := *j
		if again.fits(n, level) {
			*j = again
			return true
		}
		j.left = again.left
	}
	return false
}

// maxOthers is how many members an object may have that the schema does not
// describe by name. It is small because finding duplicates among them takes a
// linear search.
const maxOthers = 16

func (j *textJudge) fitsObject(r *rules, level int) bool {
	if level > j.levels {
		return false
	}
	j.pos++
	var seen uint64            // bits of the properties read so far
	var more [maxOthers]string // names of other members
	count, others := 0, 0
	for first := true; ; first = false {
		c := j.peek()
		if c == '}' && first {
			break
		}
		if c != '"' {
			return false
		}
		key, ok := j.str()
		if !ok || j.peek() != ':' {
			return false
		}
		if r.name != nil && !j.fitsName(r.name.rules, key) {
			return false
		}
		n := r.other
		switch i := r.find(key); {
		case i >= 0 && seen&(1<<i) == 0:
			seen |= 1 << i
			n = r.properties[i].node
		case i < 0 && others < maxOthers && !slices.Contains(more[:others], key):
			more[others] = key
			others++
		default:
			return false
		}
		count++
		j.pos++
		if !j.fits(n, level) {
			return false
		}
		if c = j.peek(); c == '}' {
			break
		}
		if c != ',' {
			return false
		}
		j.pos++
	}
	j.pos++
	return seen&r.required == r.required && r.members.has(count)
}

// fitsName reports whether a member name certainly matches r.
func (j *textJudge) fitsName(r *rules, name string) bool {
	return r != nil && r.anyOf == nil && r.types&stringType != 0 &&
		r.allowText(name) && j.afford(r, name) && r.text(name)
}

func (j *textJudge) fitsArray(r *rules, level int) bool {
	if level > j.levels {
		return false
	}
	j.pos++
	count := 0
	for {
		c := j.peek()
		if c == ']' && count == 0 {
			break
		}
		if !j.fits(r.item, level) {
			return false
		}
		count++
		if c = j.peek(); c == ']' {
			break
		}
		if c != ',' {
			return false
		}
		j.pos++
	}
	j.pos++
	return r.items.has(count)
}
