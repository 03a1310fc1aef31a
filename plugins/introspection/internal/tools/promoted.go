package tools

import (
	"context"
	"go/types"
	"strings"

	"github.com/toolhost/toolhost/plugins/introspection/internal/typeutil"
)

// addPromoted adds the fields that the type has from embedded structs: those that the
// type's own package can select.
func (d fieldDescriber) addPromoted(ctx context.Context, t types.Type, out *slots) error {
	for _, name := range promotable(t) {
		obj, index, _ := types.LookupFieldOrMethod(t, true, d.pkg.Types, name)
		field, ok := obj.(*types.Var)
		if !ok || len(index) < 2 {
			continue // hidden by a nearer name, ambiguous, or not accessible here
		}
		if !d.pages.wants() {
			d.pages.skip()
			continue
		}
		one, err := d.promotedField(ctx, t, field, index)
		if err != nil {
			return err
		}
		add(d.pages, &out.Promoted, one)
	}
	return nil
}

func (d fieldDescriber) promotedField(
	ctx context.Context, t types.Type, field *types.Var, index []int,
) (promotedSlot, error) {
	path, offset, pointer := d.follow(t, index)
	s, at := typeutil.FieldAt(t, index)
	one, err := d.field(ctx, s, at, offset)
	return promotedSlot{
		slotField: one, From: d.printer.Type(typeutil.PromotedFrom(t, field, index)),
		Path: strings.Join(path, "."), Pointer: pointer,
	}, err
}

// follow follows an index from t. It returns the names of the fields on the path, and
// the offset of the last field in t if there is no pointer on the path and the size of
// all that comes before is known.
func (d fieldDescriber) follow(t types.Type, index []int) (path []string, offset *int64, pointer bool) {
	offset = new(int64)
	for depth, i := range index {
		s := typeutil.Struct(t)
		if _, isPointer := types.Unalias(t).(*types.Pointer); isPointer && depth > 0 {
			pointer, offset = true, nil
		}
		if step := typeutil.Offsets(s, d.pkg.Sizes)[i]; step == nil {
			offset = nil
		} else if offset != nil {
			*offset += *step
		}
		path = append(path, s.Field(i).Name())
		t = s.Field(i).Type()
	}
	return path, offset, pointer
}

// promotable returns the names of the fields of all structs embedded in t, nearest
// first, each once.
func promotable(t types.Type) []string {
	var out []string
	named, seen := map[string]bool{}, map[*types.Struct]bool{}
	level := []*types.Struct{typeutil.Struct(t)}
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
				if below := typeutil.Struct(f.Type()); f.Embedded() && below != nil {
					next = append(next, below)
				}
			}
		}
		level = next
	}
	return out
}
