package main

import (
	"context"
	"go/types"
	"strings"
)

// promoted adds the fields that the type has from embedded structs: those that
// Go lets the type's own package select.
func (d drawer) promoted(ctx context.Context, t types.Type, out *slots) error {
	for _, name := range promotable(t) {
		obj, index, _ := types.LookupFieldOrMethod(t, true, d.unit.Types, name)
		field, ok := obj.(*types.Var)
		if !ok || len(index) < 2 {
			continue // hidden by something nearer, there twice, or of no use here
		}
		if len(out.Promoted) == maxSlots {
			out.Omitted++
			continue
		}
		one, err := d.promotedField(ctx, t, field, index)
		if err != nil {
			return err
		}
		out.Promoted = append(out.Promoted, one)
	}
	return nil
}

func (d drawer) promotedField(ctx context.Context, t types.Type, field *types.Var, index []int) (promotedSlot, error) {
	path, offset, pointer := d.way(t, index)
	s, at := fieldAt(t, index)
	one, err := d.field(ctx, s, at, offset)
	return promotedSlot{
		slotField: one, From: d.typ(origin(t, field, index)), Path: strings.Join(path, "."), Pointer: pointer,
	}, err
}

// way follows an index from t: the names on it, where in t the last field lies
// if no pointer is in between and all that lies before is of known size.
func (d drawer) way(t types.Type, index []int) (path []string, offset *int64, pointer bool) {
	offset = new(int64)
	for depth, i := range index {
		s := structOf(t)
		if _, isPointer := types.Unalias(t).(*types.Pointer); isPointer && depth > 0 {
			pointer, offset = true, nil
		}
		if step := offsets(s, d.unit.TypesSizes)[i]; step == nil {
			offset = nil
		} else if offset != nil {
			*offset += *step
		}
		path = append(path, s.Field(i).Name())
		t = s.Field(i).Type()
	}
	return path, offset, pointer
}

// promotable are the names of the fields of all structs embedded in t, nearest
// first, each once.
func promotable(t types.Type) []string {
	var out []string
	named, seen := map[string]bool{}, map[*types.Struct]bool{}
	level := []*types.Struct{structOf(t)}
	for depth := 0; len(level) > 0; depth++ {
		var next []*types.Struct
		for _, s := range level {
			if seen[s] {
				continue
			}
			seen[s] = true
			for f := range s.Fields() {
				if depth > 0 && !named[f.Name()] {
					named[f.Name()] = true
					out = append(out, f.Name())
				}
				if below := structOf(f.Type()); f.Embedded() && below != nil {
					next = append(next, below)
				}
			}
		}
		level = next
	}
	return out
}
