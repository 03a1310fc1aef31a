package workspace

import (
	"io"
	"os"
	"path"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/ignore"
)

// scopeAbove returns the rules of the directories above a directory. One that cannot be
// opened has none.
func (l *walker) scopeAbove(name string) *ignore.Scope {
	if len(l.options.Ignore) == 0 || name == "." {
		return nil
	}
	up := path.Dir(name)
	scope := l.scopeAbove(up)
	dir, err := l.openDir(up)
	if err != nil {
		return scope
	}
	defer func() { _ = dir.Close() }()
	return l.scopeOf(scope, up, dir)
}

// scopeOf adds the rules of a directory to those from above.
func (l *walker) scopeOf(scope *ignore.Scope, name string, dir *os.Root) *ignore.Scope {
	if len(l.options.Ignore) == 0 {
		return nil
	}
	_, err := dir.Lstat(".git")
	repository := err == nil
	sets := make([]ignore.Set, len(l.options.Ignore))
	some := repository
	for i, file := range l.options.Ignore {
		sets[i].Git = strings.HasPrefix(file, ".git")
		if content := readRules(dir, file); content != nil {
			sets[i].Rules, some = ignore.Parse(name, content), true
		}
	}
	if !some {
		return scope
	}
	return scope.Below(sets, repository)
}

// readRules reads a file with rules; nil if there is none. Like git, it does not follow
// links.
func readRules(dir *os.Root, file string) []byte {
	info, err := dir.Lstat(file)
	if err != nil || kindOf(info.Mode()) != File {
		return nil
	}
	f, err := dir.OpenFile(file, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	if now, err := f.Stat(); err != nil || !os.SameFile(info, now) {
		return nil
	}
	content, err := io.ReadAll(io.LimitReader(f, ignore.MaxSize))
	if err != nil {
		return nil
	}
	return content
}
