package schema

import "encoding/json"

// The work that one step of v5 stands for, measured with v5.3.1. A step costs about as
// much as an error: 1 µs to 3 µs and up to 1 KiB.
const (
	stepLookUps  = 8    // names to look up or to record
	stepText     = 256  // bytes to copy into a message or an address
	stepLocation = 1000 // nested subschemas times bytes of their addresses: v5 joins them for each error
	stepNumber   = 8    // steps for a number with an exponent or many digits
)

// meter adds up the possible cost of validating one value. It follows the path
// that v5 would take, and stops at limits, because v5 cannot be interrupted.
type meter struct {
	steps   int64 // evaluations, and the cost of their possible errors
	program int64 // instructions of patterns times bytes of text
	task    *task
}

// over reports whether the value exceeds a limit.
func (m *meter) over() bool {
	return m.program > maxProgram || m.steps > maxSteps
}

// heavy reports whether validating the value is more than a light task.
func (m *meter) heavy() bool {
	return m.program > lightProgram || m.steps > lightSteps
}

// depth describes how v5 reached a value: the number of enclosing subschemas,
// and the bytes of the locations in the schema and in the value.
type depth struct{ above, schema, value int64 }

// visit counts the evaluation of v by n.
func (m *meter) visit(n *node, v any, d depth) {
	m.steps += int64(n.work.steps) + d.above*d.schema/stepLocation + d.value/stepText
	if m.over() || m.task.ended(1) {
		return
	}
	d.above++
	for _, t := range n.inPlace {
		m.child(t, v, d)
	}
	if n.ref != nil {
		m.visit(n.ref, v, depth{d.above, d.schema + int64(len("/$ref")), d.value})
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
		m.members(n, v, d)
	case []any:
		m.items(n, v, d)
	}
}

// child is visit for a subschema that is written in its parent, not referenced.
func (m *meter) child(n *node, v any, d depth) {
	d.schema += int64(n.work.segment)
	m.visit(n, v, d)
}

func (m *meter) members(n *node, members map[string]any, d depth) {
	m.steps += int64(len(members) / stepLookUps)
	for key, v := range members {
		if m.over() || m.task.ended(1) {
			return
		}
		d := d
		d.value += 2 * int64(len(key)+1) // an estimate of the length after escaping
		for _, p := range n.patterns {
			m.program += int64(p.pattern.program) * int64(len(key))
			m.child(p.node, v, d)
		}
		for _, t := range n.names {
			m.child(t, key, d)
		}
		if t := n.named[key]; t != nil {
			m.child(t, v, d)
			continue
		}
		for _, t := range n.others {
			m.child(t, v, d)
		}
	}
}

func (m *meter) items(n *node, items []any, d depth) {
	m.steps += int64(len(items) / stepLookUps)
	if n.work.unique {
		m.steps += int64(size(items))
	}
	d.value += int64(len("/1234"))
	for i, v := range items {
		if m.over() || m.task.ended(1) {
			return
		}
		for _, t := range n.contains {
			m.child(t, v, d)
		}
		if i < len(n.prefix) {
			m.child(n.prefix[i], v, d)
			continue
		}
		for _, t := range n.items {
			m.child(t, v, d)
		}
	}
}
