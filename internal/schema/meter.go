package schema

import "encoding/json"

// What a step of v5 buys, as measured with v5.3.1. A step is about one error:
// 1 µs to 3 µs and up to 1 KiB.
const (
	stepLookUps  = 8    // names to look up or to note
	stepText     = 256  // bytes to copy into a message or an address
	stepLocation = 1000 // subschemas on the way times bytes of their addresses: v5 joins them for each error
	stepNumber   = 8    // steps for a number with an exponent or many digits
)

// meter adds up what judging one value can cost, up to some limits. It goes
// where v5 would go, and stops where v5 could not be stopped.
type meter struct {
	steps   int64 // evaluations, and what errors could take
	program int64 // instructions of patterns times bytes
	task    *task
}

// over reports whether there is no sense in going on.
func (m *meter) over() bool {
	return m.program > maxProgram || m.steps > maxSteps
}

// heavy reports whether what comes next is more than a light task.
func (m *meter) heavy() bool {
	return m.program > lightProgram || m.steps > lightSteps
}

// way is how v5 came to a value: past so many subschemas, by a location of so
// many bytes in the schema and another in the value.
type way struct{ above, schema, value int64 }

// visit counts the evaluation of v by n.
func (m *meter) visit(n *node, v any, w way) {
	m.steps += int64(n.work.steps) + w.above*w.schema/stepLocation + w.value/stepText
	if m.over() || m.task.ended(1) {
		return
	}
	w.above++
	for _, t := range n.inPlace {
		m.child(t, v, w)
	}
	if n.ref != nil {
		m.visit(n.ref, v, way{w.above, w.schema + int64(len("/$ref")), w.value})
	}
	switch v := v.(type) {
	case string:
		m.program += int64(n.work.program) * int64(len(v))
		if n.work.quotes {
			m.steps += int64(len(v) / stepText)
		}
		if n.work.regex && len(v) <= maxShort {
			m.steps += int64(parseWork(v))
		}
	case json.Number:
		if heavy(v) {
			m.steps += stepNumber
		}
	case map[string]any:
		m.members(n, v, w)
	case []any:
		m.items(n, v, w)
	}
}

// child is visit for a node that is reached where it was written.
func (m *meter) child(n *node, v any, w way) {
	w.schema += int64(n.work.segment)
	m.visit(n, v, w)
}

func (m *meter) members(n *node, members map[string]any, w way) {
	m.steps += int64(len(members) / stepLookUps)
	for key, v := range members {
		if m.over() || m.task.ended(1) {
			return
		}
		w := w
		w.value += 2 * int64(len(key)+1) // escaped, with some luck
		for _, p := range n.patterns {
			m.program += int64(p.pattern.program) * int64(len(key))
			m.child(p.node, v, w)
		}
		for _, t := range n.names {
			m.child(t, key, w)
		}
		if t := n.named[key]; t != nil {
			m.child(t, v, w)
			continue
		}
		for _, t := range n.others {
			m.child(t, v, w)
		}
	}
}

func (m *meter) items(n *node, items []any, w way) {
	m.steps += int64(len(items) / stepLookUps)
	if n.work.unique {
		m.steps += int64(size(items))
	}
	w.value += int64(len("/1234"))
	for i, v := range items {
		if m.over() || m.task.ended(1) {
			return
		}
		for _, t := range n.contains {
			m.child(t, v, w)
		}
		if i < len(n.prefix) {
			m.child(n.prefix[i], v, w)
			continue
		}
		for _, t := range n.items {
			m.child(t, v, w)
		}
	}
}

// rate is the most that one byte of a value can cost, where no value meets
// more evaluations than so many. It spares small values the meter.
type rate struct{ evaluations, steps, program float64 }

func rateOf(nodes []*node, evaluations int) rate {
	var steps, segment, program, unique, regex int
	for _, n := range nodes {
		steps = max(steps, n.work.steps)
		segment = max(segment, n.work.segment, len("/$ref"))
		program = max(program, n.work.program)
		for _, p := range n.patterns {
			program = max(program, p.pattern.program)
		}
		if n.work.unique {
			unique = maxValueLevels // an item counts for each array around it
		}
		if n.work.regex {
			regex = parseWide // a byte can be the worst of an expression
		}
	}
	e := float64(evaluations)
	location := e * e * float64(segment) / stepLocation
	return rate{
		evaluations: e,
		steps:       e * (float64(steps+stepNumber/2+unique+regex+1) + location),
		program:     e * float64(program),
	}
}

// light reports whether judging a value of so many bytes is a light task for v5,
// whatever the value is.
func (r rate) light(bytes int) bool {
	n := float64(bytes)
	place := 3 * n / stepText // of a value, which v5 writes for each evaluation
	return n*(r.steps+r.evaluations*place) <= lightSteps && n*r.program <= lightProgram
}
