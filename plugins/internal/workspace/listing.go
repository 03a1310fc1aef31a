package workspace

import "context"

// ListOptions narrow a listing. The zero value lists all of one directory.
type ListOptions struct {
	WalkOptions
	// Match selects the entries that are listed. It does not affect which directories
	// are entered. Nil means all.
	Match func(Entry) bool
	// Limit bounds how many entries are listed. 0 means no limit.
	Limit int
}

// Listing is the content of a directory.
type Listing struct {
	// Entries are sorted by path, byte by byte.
	Entries []Entry
	// Truncated is true if Limit cut entries off the end.
	Truncated bool
	// Unreadable are directories that could not be read, at most [MaxUnreadable].
	Unreadable []string
}

// List lists a directory. If the path itself is a symbolic link that stays inside, it is
// followed; links in the directory are listed and not followed. Files that appear or
// vanish meanwhile may be listed or not.
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
