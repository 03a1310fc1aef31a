package pluginrun

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/ident"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/trusted"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const filePrefix = "toolhost-plugin-"

// NameOf returns the name of the plugin in a file of this name.
func NameOf(file string) string {
	return strings.TrimPrefix(file, filePrefix)
}

// leftovers are endings of files that editors, package managers and copying leave, and
// that are not meant to run even if they are executable.
var leftovers = []string{
	"~", ".bak", ".old", ".orig", ".rej", ".save", ".tmp", ".temp", ".new", ".swp", ".swo", ".swx",
	".part", ".partial", ".filepart", ".crdownload", ".download",
	".dpkg-new", ".dpkg-old", ".dpkg-tmp", ".dpkg-dist", ".dpkg-bak", ".ucf-new", ".ucf-old", ".ucf-dist",
	".rpmnew", ".rpmsave", ".rpmorig", ".apk-new", ".pacnew", ".pacsave", ".pacorig",
}

// Discover finds the plugins of one directory: every executable regular file directly in
// it, sorted by name, and every symbolic link to one if only this user and root could change
// the link, the file or a directory on the way. Everything else is skipped, and nothing is
// opened; .signed, with the signatures, is not mentioned. Of names that differ only in case the first is used.
//
// The path of a file stands for that one plugin, which is held to the same rules. Its
// neighbors are not looked at, so other users may add files next to it if they cannot replace
// it, as in /tmp.
//
// # Errors
//
// [tool.CodeNotFound] if there is no such directory; [tool.CodePermissionDenied] if other
// users may write to it or to a directory above it; [tool.CodeUnavailable] if it cannot be
// read. For a file that cannot be a plugin, [tool.CodeUnavailable].
func Discover(dir string) ([]plugin.Candidate, []plugin.Skipped, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil, directoryError(dir, err)
	}
	if isFile(abs) {
		c, err := findFile(abs)
		if err != nil {
			return nil, nil, err
		}
		return []plugin.Candidate{c}, nil, nil
	}
	if err := checkDirectory(abs); err != nil {
		return nil, nil, err
	}
	entries, err := os.ReadDir(abs)
	if err != nil {
		return nil, nil, directoryError(dir, err)
	}
	var found []plugin.Candidate
	var skipped []plugin.Skipped
	taken := map[string]string{}
	for _, e := range entries {
		if e.Name() == pluginpackage.SignedDir { // what belongs there need not be mentioned
			continue
		}
		c := plugin.Candidate{Name: NameOf(e.Name()), Path: filepath.Join(abs, e.Name())}
		reason := examine(&c, e)
		if reason == "" {
			if first := taken[strings.ToLower(c.Name)]; first != "" {
				reason = "the name is taken by " + first
			}
		}
		if reason != "" {
			skipped = append(skipped, plugin.Skipped{Path: c.Path, Reason: reason})
			continue
		}
		taken[strings.ToLower(c.Name)] = e.Name()
		found = append(found, c)
	}
	slices.SortFunc(found, func(a, b plugin.Candidate) int { return cmp.Compare(a.Name, b.Name) })
	return found, skipped, nil
}

// isFile reports whether a path is that of something other than a directory.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// findFile returns the plugin of a file that was named.
func findFile(abs string) (plugin.Candidate, error) {
	if _, _, err := trusted.Way(abs); err != nil {
		return plugin.Candidate{}, err
	}
	c := plugin.Candidate{Name: NameOf(filepath.Base(abs)), Path: abs}
	info, err := os.Lstat(abs)
	if err != nil {
		return plugin.Candidate{}, directoryError(filepath.Dir(abs), err)
	}
	if reason := examine(&c, fs.FileInfoToDirEntry(info)); reason != "" {
		return plugin.Candidate{}, tool.Errorf(tool.CodeUnavailable, "%s cannot be a plugin: %s", abs, reason).
			Of("", c.Name).At(callstage.Start).Fix("name the executable of a plugin")
	}
	return c, nil
}

// examine returns why a directory entry is not a plugin; empty: it is one. It finds out where
// a link leads.
func examine(c *plugin.Candidate, e fs.DirEntry) (reason string) {
	file := e.Name()
	switch mode := e.Type(); {
	case strings.HasPrefix(file, "."):
		return "hidden"
	case mode.IsDir():
		return "a directory"
	case !mode.IsRegular() && mode&fs.ModeSymlink == 0:
		return "not a regular file"
	}
	for _, end := range leftovers {
		if strings.HasSuffix(strings.ToLower(file), end) {
			return "looks like a leftover (" + end + ")"
		}
	}
	if e.Type()&fs.ModeSymlink != 0 {
		if reason := follow(c); reason != "" {
			return "a symbolic link that is not followed: " + reason
		}
	}
	info, err := os.Lstat(c.Binary())
	if err != nil {
		return err.Error()
	}
	switch {
	case !executable(info):
		return "not executable; if it is a plugin: chmod +x"
	case safefile.OthersMayWrite(info):
		return "others may write to it; chmod go-w"
	case !ident.Valid(c.Name):
		return "not a plugin name: use letters, digits, _, . and -, at most 64"
	}
	return ""
}

// follow finds out where a link leads, and returns why it is not followed; empty: it is. What
// a directory contains is its owner's choice, and the operator named that directory. A link
// leads out of it, so everything there has to belong to this user or root.
func follow(c *plugin.Candidate) (reason string) {
	dir, err := filepath.EvalSymlinks(filepath.Dir(c.Path))
	if err != nil {
		return err.Error()
	}
	at, links, err := trusted.Way(filepath.Join(dir, filepath.Base(c.Path)))
	if err != nil {
		e := tool.AsError(err)
		return e.Message + "; " + e.Advice()
	}
	if len(links) == 0 { // it is a file by now
		return ""
	}
	info, err := os.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "it leads to " + at + ", which is not there"
	case err != nil:
		return err.Error()
	case !info.Mode().IsRegular():
		return "it leads to " + at + ", which is not a regular file"
	}
	for _, p := range append(links[1:], at) { // the first is the entry itself
		for up := ""; p != up; p, up = filepath.Dir(p), p {
			if info, err := os.Lstat(p); err != nil || !safefile.Ours(info) {
				return p + " belongs to another user; copy the file itself here"
			}
		}
	}
	c.Target = at
	return ""
}

// executable reports whether the system would run a file.
func executable(info fs.FileInfo) bool { return info.Mode().Perm()&0o111 != 0 }

// checkDirectory refuses a directory that another user could put a binary into, or replace.
func checkDirectory(abs string) error {
	info, err := os.Stat(abs)
	if err != nil {
		return directoryError(abs, err)
	}
	if !info.IsDir() {
		return tool.Errorf(tool.CodeNotFound, "%s is not a directory", abs).
			At(callstage.Start).Try("name a directory of plugin binaries")
	}
	if safefile.OthersMayWrite(info) { // with the sticky bit, too: they may add plugins
		return tool.Errorf(tool.CodePermissionDenied,
			"the plugin directory %s is not used: others may write to %s (mode %s)", abs, abs, info.Mode().Perm()).
			At(callstage.Start).Try("chmod go-w " + abs)
	}
	if _, _, err := trusted.Way(abs); err != nil {
		e := *tool.AsError(err)
		e.Message = "the plugin directory " + e.Message
		return &e
	}
	return nil
}

func directoryError(dir string, err error) error {
	out := tool.Errorf(tool.CodeUnavailable, "the plugin directory %s cannot be read: %w", dir, err).
		At(callstage.Start).Fix(remedy.PluginDir.String())
	if errors.Is(err, fs.ErrNotExist) {
		out.Code, out.Message = tool.CodeNotFound, fmt.Sprintf("there is no plugin directory %s", dir)
		out.OperatorHint = "make it and copy plugin binaries into it, or " + out.OperatorHint
	}
	return out
}
