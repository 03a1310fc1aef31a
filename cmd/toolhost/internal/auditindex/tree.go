package auditindex

import (
	"context"
	"slices"

	"github.com/toolhost/toolhost/host/audit"
)

// Limits of a tree.
const (
	maxNested    = 500  // calls
	maxCallLines = 1000 // of one call
	maxNesting   = 16
	maxFound     = 5 // IDs
)

// Call is what a log has of a call.
type Call struct {
	ID      string
	Entries []audit.Entry // none: it has nothing
	Calls   []*Call       // that were made in it
	More    bool          // than these
}

// Tree returns a call, and those that were made in it. Lines that are not records are left out.
//
// # Errors
//
// Those of reading the log; the context's error if it ends.
func (x *Index) Tree(ctx context.Context, id string) (*Call, error) {
	return x.tree(ctx, id, map[string]bool{}, 0)
}

func (x *Index) tree(ctx context.Context, id string, seen map[string]bool, depth int) (*Call, error) {
	c := &Call{ID: id}
	seen[id] = true
	k := keyOf(id)
	places := x.find(k, k)
	var err error
	if c.Entries, err = x.newest(ctx, audit.Filter{Call: id}, places); err != nil || len(c.Entries) == 0 {
		return c, err
	}
	nested, err := x.newest(ctx, audit.Filter{Parent: id}, places)
	for _, e := range nested {
		if seen[e.Call] || e.Call == "" {
			continue
		}
		if c.More = len(seen) > maxNested || depth >= maxNesting; c.More {
			break
		}
		below, err := x.tree(ctx, e.Call, seen, depth+1)
		if err != nil {
			return nil, err
		}
		if len(below.Entries) > 0 { // else they were replaced meanwhile
			c.Calls = append(c.Calls, below)
		}
	}
	return c, err
}

// Job returns what Tree does of the call that has an ID in the queue of durable calls.
//
// # Errors
//
// Those of Tree.
func (x *Index) Job(ctx context.Context, id string) (*Call, error) {
	f := audit.Filter{Text: id}
	for e, err := range x.search(ctx, f, x.Places(f)...) {
		if err != nil {
			return nil, err
		}
		if e.Object == id && e.Call != "" {
			return x.Tree(ctx, e.Call)
		}
	}
	return &Call{ID: id}, nil
}

// newest returns the newest lines that pass the filter.
func (x *Index) newest(ctx context.Context, f audit.Filter, places []audit.Range) (all []audit.Entry, err error) {
	for e, err := range x.search(ctx, f, places...) {
		if err != nil {
			return nil, err
		}
		if f.Parent != "" || e.Call == f.Call {
			all = append(all, e)
		}
		if len(all) == 2*maxCallLines {
			all = slices.Delete(all, 0, maxCallLines)
		}
	}
	return all, nil
}

// Beginning returns some IDs of calls that begin so.
//
// # Errors
//
// Those of reading the log; the context's error if it ends.
func (x *Index) Beginning(ctx context.Context, id string) (ids []string, err error) {
	for e, err := range x.search(ctx, audit.Filter{Call: id}, x.begins(id)...) {
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, e.Call) {
			ids = append(ids, e.Call)
		}
		if len(ids) == maxFound {
			break
		}
	}
	return ids, nil
}
