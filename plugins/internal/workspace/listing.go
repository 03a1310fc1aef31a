package workspace

import "context"

// ListOptions narrow a listing. The zero value lists one directory whole.
type ListOptions struct {
	WalkOptions
	// Match picks the entries that are listed; directories are gone into
	// either way. Nil: all.
	Match func(Entry) bool
	// Limit is the most entries that are listed. 0: no limit.
	Limit int
}

// Listing is what is in a directory.
type Listing struct {
	// Entries are sorted by path, byte by byte.
	Entries []Entry
	// Truncated says that Limit cut entries off the end.
	Truncated bool
	// Unreadable are directories that could not be looked into, at most
	// [MaxUnreadable].
	Unreadable []string
}

// List lists a directory. If the path itself is a symbolic link that stays
// inside, it is followed; links that are found are listed and not followed.
// What appears or vanishes meanwhile may be listed or not.
func (w *Workspace) List(ctx context.Context, given string, o ListOptions) (Listing, error) {
	var out Listing
	var err error
	out.Unreadable, err = w.Walk(ctx, given, o.WalkOptions, func(e Entry) error {
		switch {
		case o.Match != nil && !o.Match(e):
		case o.Limit > 0 && len(out.Entries) == o.Limit:
			out.Truncated = true
			return ErrEnough
		default:
			out.Entries = append(out.Entries, e)
		}
		return nil
	})
	if err != nil {
		return Listing{}, err
	}
	return out, nil
}
