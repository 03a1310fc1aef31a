package schema

import "errors"

var errCycle = errors.New("refers to itself for one and the same value, which never ends")

// checkCycles refuses a schema that applies itself to the same value again,
// which would never end. It sorts the nodes topologically: the nodes that a node
// applies to the same value come before it.
//
// How often a schema is applied to a value needs no bound here: the meter counts
// that for each value, and few honest schemas can be told from hostile ones
// without one. A value of a recursive union, such as any JSON value, is an array
// or an object, and never both.
func checkCycles(nodes []*node) error {
	waiting := make([]int, len(nodes)) // number of unsorted nodes that each node applies
	users := make([][]*node, len(nodes))
	order := make([]*node, 0, len(nodes))
	for _, n := range nodes {
		uses := n.inPlace
		if n.ref != nil {
			uses = append(uses[:len(uses):len(uses)], n.ref)
		}
		for _, t := range uses {
			users[t.id] = append(users[t.id], n)
		}
		if waiting[n.id] = len(uses); len(uses) == 0 {
			order = append(order, n)
		}
	}
	for i := 0; i < len(order); i++ {
		for _, n := range users[order[i].id] {
			if waiting[n.id]--; waiting[n.id] == 0 {
				order = append(order, n)
			}
		}
	}
	if len(order) == len(nodes) {
		return nil
	}
	for _, n := range nodes {
		if waiting[n.id] > 0 && n.refAddress != "" {
			return n.errorf("%v", errCycle)
		}
	}
	return errCycle
}
