package workspace

import "io/fs"

// Info is an [Entry] in detail.
type Info struct {
	Entry
	Mode   fs.FileMode // permission bits
	Target string      // of a symbolic link, as it is written there
}

// Stat describes the file at a path. It does not follow a symbolic link.
func (w *Workspace) Stat(given string) (Info, error) {
	name, err := Clean(given)
	if err != nil {
		return Info{}, err
	}
	info, err := w.root.Lstat(name)
	if err != nil {
		return Info{}, w.Explain(given, err)
	}
	if namesDir(given) && kindOf(info.Mode()) != Dir {
		// With a slash at the end, the path of a link leads to its directory.
		if info, err = w.root.Stat(name); err != nil {
			return Info{}, w.Explain(given, err)
		}
		if err := requireKind(Dir, given, info.Mode()); err != nil {
			return Info{}, err
		}
	}
	out := Info{Entry: entry("", info).Entry, Mode: info.Mode().Perm()}
	out.Path = name
	if out.Kind == Symlink {
		if out.Target, err = w.root.Readlink(name); err != nil {
			return Info{}, w.Explain(given, err)
		}
	}
	return out, nil
}
