package schema

import (
	"errors"
	"fmt"
)

var (
	errCycle      = errors.New("refers to itself for one and the same value, which never ends")
	errMultiplies = fmt.Errorf("the schema multiplies: validating could take more than %d steps a value", maxEvaluations)
)

// bound counts how many evaluations of subschemas one value of an instance can
// be part of. It refuses a schema that needs too many.
//
// Let f(s, d) be the evaluations that s starts along one path from a value down
// d levels:
//
//	f(s, d) = 1 + the sum of f(t, d) over all t that s applies to the same value
//	            + the largest, over the members or items that the value may
//	              have, of the sum of f(t, d-1) over all t that s applies to it
//
// No value is evaluated more than f(root, levels) times, as all evaluations of
// it are started along the path to it. f grows by a constant per level for
// schemas that refer to themselves once a level, such as trees and lists; it
// doubles for those that do so twice.
func bound(nodes []*node) (evaluations int, err error) {
	order, err := innermostFirst(nodes)
	if err != nil {
		return 0, err
	}
	row, above := make([]int, len(nodes)), make([]int, len(nodes))
	flat := make([]int, len(nodes)) // f(s, 0), for names, which have no members
	for depth := 0; depth <= maxValueLevels; depth++ {
		changed := false
		for _, n := range order {
			total := 1 + sum(row, n.inPlace)
			if n.ref != nil {
				total += row[n.ref.id]
			}
			if depth > 0 {
				total += deepest(n, above, flat)
			}
			total = min(total, maxEvaluations+1)
			changed = changed || total != above[n.id]
			row[n.id] = total
		}
		if row[0] > maxEvaluations {
			return 0, errMultiplies
		}
		if depth == 0 {
			copy(flat, row)
		}
		row, above = above, row
		if !changed {
			break
		}
	}
	return above[0], nil
}

// deepest computes the part of f(s, d) for members and items, from f(t, d-1).
func deepest(n *node, above, flat []int) int {
	members := sum(above, n.others)
	for _, t := range n.named {
		members = max(members, above[t.id])
	}
	for _, p := range n.patterns {
		members += above[p.node.id] // any name might match
	}
	members += sum(flat, n.names)

	items := sum(above, n.items)
	for _, t := range n.prefix {
		items = max(items, above[t.id])
	}
	items += sum(above, n.contains)
	return max(members, items)
}

func sum(row []int, nodes []*node) int {
	total := 0
	for _, n := range nodes {
		total += row[n.id]
	}
	return total
}

// innermostFirst sorts the nodes topologically: the nodes that a node applies
// to the same value come before it.
func innermostFirst(nodes []*node) ([]*node, error) {
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
		return order, nil
	}
	for _, n := range nodes {
		if waiting[n.id] > 0 && n.refAddress != "" {
			return nil, n.errorf("%v", errCycle)
		}
	}
	return nil, errCycle
}
