// Package trusted reads the files that decide what a host runs, and only if no user but
// their owner could have written them. Begin with [Read].
//
// A file that says which binaries run, with which arguments, is worth as much to an attacker
// as the binaries, so the rule is that of plugin directories: others may write neither the
// file nor a directory on the way to it. In a directory with the sticky bit, such as /tmp,
// anyone may add files and no one may replace those of others, so there the entry must
// belong to this user or root.
package trusted

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/protect"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Read returns the content of a regular file of at most so many bytes. It opens the file
// once, checks the open file, and reads it once. A symbolic link is followed; the directories
// above each link and above the target are checked ([Way]). A link that leads nowhere is not a
// missing file: it names one that decides something. A FIFO or device is refused.
//
// # Errors
//
// Each is a [*tool.Error]: [tool.CodeNotFound] if there is no such file, which is
// [fs.ErrNotExist] too; [tool.CodePermissionDenied] if others could have written it;
// [tool.CodeResourceExhausted] if it is too large; [tool.CodeUnavailable] if it cannot be
// read or is not a regular file.
func Read(path string, most int64) ([]byte, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, failed(path, err)
	}
	f, info, err := safefile.OpenTarget(abs)
	if err != nil {
		return nil, failed(abs, err)
	}
	defer func() { _ = f.Close() }()
	if safefile.OthersMayWrite(info) {
		return nil, unsafe(abs, fmt.Sprintf("others may write to it (mode %s)", info.Mode().Perm()), "chmod go-w "+abs)
	}
	if _, _, err := Way(abs); err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, tooLarge(abs, most)
	}
	content, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, failed(abs, err)
	case int64(len(content)) > most:
		return nil, tooLarge(abs, most)
	}
	return content, nil
}

// Way returns where a path leads, absolute and with links followed, if only the owners of
// what is on the way could lead it elsewhere: others may write to no directory above the
// path, above a link on the way, or above what it leads to. Links are those on the way, each
// by its own path without links.
//
// # Errors
//
// [tool.CodePermissionDenied] if others may write on the way; [tool.CodeUnavailable] if links
// lead in a circle or a directory is missing or cannot be examined.
func Way(path string) (at string, links []string, err error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", nil, failed(path, err)
	}
	at, links, err = protect.Resolve(abs)
	if err != nil {
		return "", nil, failed(abs, err)
	}
	for _, p := range append(slices.Clone(links), at) {
		if err := checkParentsOf(abs, p); err != nil {
			return "", nil, err
		}
	}
	return at, links, nil
}

// checkParentsOf checks the directories above a path, none of which is a link; the last
// element may be.
func checkParentsOf(abs, at string) error {
	for parent := filepath.Dir(at); parent != at; at, parent = parent, filepath.Dir(parent) {
		above, err := os.Stat(parent)
		if err != nil {
			return failed(abs, err)
		}
		if !safefile.OthersMayWrite(above) {
			continue
		}
		if above.Mode()&fs.ModeSticky == 0 {
			return unsafe(abs, fmt.Sprintf("others may write to %s (mode %s)", parent, above.Mode().Perm()), "chmod go-w "+parent)
		}
		entry, err := os.Lstat(at)
		if err != nil {
			return failed(abs, err)
		}
		if !safefile.Ours(entry) {
			return unsafe(abs, at+" belongs to another user, in a directory that all may write to",
				"move it to a directory of your own")
		}
	}
	return nil
}

func unsafe(abs, why, hint string) error {
	return tool.Errorf(tool.CodePermissionDenied, "%s is not used: %s", abs, why).At(callstage.Start).Try(hint)
}

func tooLarge(abs string, most int64) error {
	return tool.Errorf(tool.CodeResourceExhausted, "%s is not read: it has more than %d bytes", abs, most).
		At(callstage.Start).Try("is it the right file?")
}

func failed(abs string, err error) error {
	why := err
	if at, ok := err.(*fs.PathError); ok && at.Path == abs { //nolint:errorlint // a text around it would be lost
		why = at.Err
	}
	e := tool.Errorf(tool.CodeUnavailable, "%s cannot be read: %v", abs, why).
		At(callstage.Start).Because(err).Try("name a regular file that this user may read")
	if !errors.Is(err, fs.ErrNotExist) {
		return e
	}
	if info, bad := os.Lstat(abs); bad == nil && info.Mode()&fs.ModeSymlink != 0 {
		e.Err = nil // which callers would take for a file that is not there
		e.Message, e.Hint = abs+" is a symbolic link to a file that is not there", "restore that file, or remove the link"
		return e
	}
	e.Code, e.Message, e.Hint = tool.CodeNotFound, "there is no file "+abs, ""
	return e
}
