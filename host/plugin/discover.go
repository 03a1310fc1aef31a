package plugin

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Candidate is a file that counts as a plugin. It was not opened or run.
type Candidate struct {
	// Name is the plugin's name: that of its file, without a leading
	// "toolhost-plugin-" and a trailing ".exe".
	Name string
	// Path is absolute.
	Path string
}

// Skipped is an entry of a plugin directory that is not a plugin, and why.
type Skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// String returns the path and the reason.
func (s Skipped) String() string { return s.Path + ": " + s.Reason }

const (
	filePrefix = "toolhost-plugin-"
	fileSuffix = ".exe"
)

// NameOf returns the name of the plugin in a file of this name.
func NameOf(file string) string {
	return strings.TrimSuffix(strings.TrimPrefix(file, filePrefix), fileSuffix)
}

// isPluginName reports whether a name is ^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$.
func isPluginName(name string) bool {
	for i := range len(name) {
		c := name[i]
		plain := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !plain && (i == 0 || c != '_' && c != '.' && c != '-') {
			return false
		}
	}
	return 0 < len(name) && len(name) <= 64
}

// leftovers are endings of files that editors, package managers and copying leave, and
// that are not meant to run even if they are executable.
var leftovers = []string{"~", ".bak", ".old", ".orig", ".tmp", ".part", ".swp"}

// Discover finds the plugins of one directory: every executable regular file directly in
// it, sorted by name. Everything else is skipped without being opened. Of names that differ
// only in case the first is used.
//
// # Errors
//
// [tool.CodeNotFound] if there is no such directory; [tool.CodePermissionDenied] if other
// users may write to it or to a directory above it; [tool.CodeUnavailable] if it cannot be
// read.
func Discover(dir string) ([]Candidate, []Skipped, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil, directoryError(dir, err)
	}
	if err := checkDirectory(abs); err != nil {
		return nil, nil, err
	}
	entries, err := os.ReadDir(abs)
	if err != nil {
		return nil, nil, directoryError(dir, err)
	}
	var found []Candidate
	var skipped []Skipped
	taken := map[string]string{}
	for _, e := range entries {
		path := filepath.Join(abs, e.Name())
		name, reason := nameOrReason(e)
		if reason == "" {
			if first := taken[strings.ToLower(name)]; first != "" {
				reason = "the name is taken by " + first
			}
		}
		if reason != "" {
			skipped = append(skipped, Skipped{path, reason})
			continue
		}
		taken[strings.ToLower(name)] = e.Name()
		found = append(found, Candidate{name, path})
	}
	slices.SortFunc(found, func(a, b Candidate) int { return cmp.Compare(a.Name, b.Name) })
	return found, skipped, nil
}

// nameOrReason returns the name of the plugin that a directory entry is, or why it is not
// one.
func nameOrReason(e fs.DirEntry) (name, reason string) {
	file := e.Name()
	name = NameOf(file)
	switch mode := e.Type(); {
	case strings.HasPrefix(file, "."):
		return "", "hidden"
	case mode.IsDir():
		return "", "a directory"
	case mode&fs.ModeSymlink != 0:
		return "", "a symbolic link; copy the file itself here"
	case !mode.IsRegular():
		return "", "not a regular file"
	}
	for _, end := range leftovers {
		if strings.HasSuffix(strings.ToLower(file), end) {
			return "", "looks like a leftover (" + end + ")"
		}
	}
	info, err := e.Info()
	if err != nil {
		return "", err.Error()
	}
	switch {
	case !executable(info):
		return "", "not executable; if it is a plugin: chmod +x"
	case safefile.OthersMayWrite(info):
		return "", "others may write to it; chmod go-w"
	case !isPluginName(name):
		return "", "not a plugin name: use letters, digits, _, . and -, at most 64"
	}
	return name, ""
}

// executable reports whether the system would run a file: it goes by the mode, on Windows
// by the name.
func executable(info fs.FileInfo) bool {
	if runtime.GOOS == "windows" {
		return strings.HasSuffix(strings.ToLower(info.Name()), fileSuffix)
	}
	return info.Mode().Perm()&0o111 != 0
}

// checkDirectory refuses a directory that another user could put a binary into, or replace.
func checkDirectory(abs string) error {
	info, err := os.Stat(abs)
	if err != nil {
		return directoryError(abs, err)
	}
	if !info.IsDir() {
		return &tool.Error{
			Code: tool.CodeNotFound, Stage: tool.StageStart,
			Message: abs + " is not a directory", Hint: "name a directory of plugin binaries",
		}
	}
	resolved, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return directoryError(abs, err)
	}
	for d, below := resolved, ""; below != d; d, below = filepath.Dir(d), d {
		info, err := os.Stat(d)
		if err != nil {
			return directoryError(d, err)
		}
		if err := checkAncestor(abs, d, below, info); err != nil {
			return err
		}
	}
	return nil
}

// checkAncestor checks one directory above a plugin directory, or that directory itself;
// below is the entry in it that leads there, empty for the plugin directory. In a directory
// that all may write to, but in which only owners may replace entries, as /tmp, that entry
// has to belong to this user or root.
func checkAncestor(abs, dir, below string, info fs.FileInfo) error {
	if !safefile.OthersMayWrite(info) {
		return nil
	}
	if below == "" || info.Mode()&fs.ModeSticky == 0 {
		return &tool.Error{
			Code: tool.CodePermissionDenied, Stage: tool.StageStart,
			Message: fmt.Sprintf("the plugin directory %s is not used: others may write to %s (mode %s)", abs, dir, info.Mode().Perm()),
			Hint:    "chmod go-w " + dir,
		}
	}
	entry, err := os.Stat(below)
	if err != nil {
		return directoryError(below, err)
	}
	if !safefile.Ours(entry) {
		return &tool.Error{
			Code: tool.CodePermissionDenied, Stage: tool.StageStart,
			Message: fmt.Sprintf("the plugin directory %s is not used: "+
				"%s belongs to another user, in a directory that all may write to", abs, below),
			Hint: "move it to a directory of your own",
		}
	}
	return nil
}

func directoryError(dir string, err error) error {
	out := &tool.Error{
		Code: tool.CodeUnavailable, Stage: tool.StageStart, Err: err,
		Message:      fmt.Sprintf("the plugin directory %s cannot be read: %v", dir, err),
		OperatorHint: "name another with --plugin-dir or TOOLHOST_PLUGIN_DIR",
	}
	if errors.Is(err, fs.ErrNotExist) {
		out.Code, out.Message = tool.CodeNotFound, fmt.Sprintf("there is no plugin directory %s", dir)
		out.OperatorHint = "make it and copy plugin binaries into it, or " + out.OperatorHint
	}
	return out
}
