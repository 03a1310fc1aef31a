package lockfile

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const head = `# Made by toolhost plugins lock. It pins what may run: anything else is refused.
# Do not edit it; run the command again to accept what has changed.
`

// Bytes is the file's content, the same for equal locks.
//
// # Errors
//
// A plain error where a name, a digest or a version is none.
func (l *Lock) Bytes() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%sformat %d\n", head, format)
	for _, name := range l.Names() {
		e := l.Plugins[name]
		if err := e.check(name); err != nil {
			return nil, err
		}
		version := e.Version
		if !isPlain(version) {
			version = strconv.QuoteToGraphic(version)
		}
		fmt.Fprintf(&b, "\n%[1]s binary %[2]s%[3]s\n%[1]s definitions %[2]s%[4]s\n%[1]s version %[5]s\n", name, digestPrefix, e.SHA256, e.Definitions, version)
	}
	if b.Len() > MaxSize {
		return nil, fmt.Errorf("the lock would have %d bytes, more than %d", b.Len(), MaxSize)
	}
	return b.Bytes(), nil
}

func (e Entry) check(name string) error {
	switch {
	case !isName(name):
		return fmt.Errorf("%.70q is no plugin's name", name)
	case !isDigest(e.SHA256) || !isDigest(e.Definitions):
		return fmt.Errorf("plugin %s cannot be pinned: a digest is missing or malformed", name)
	case len(e.Version) > maxVersion || !utf8.ValidString(e.Version):
		return fmt.Errorf("plugin %s cannot be pinned: its version has more than %d bytes, or is no UTF-8", name, maxVersion)
	}
	return nil
}

// Write puts the file in the place of the one that may be there, in one step, mode
// 0644: who reads the path meanwhile, or after a power cut, finds the old or the new
// one whole.
//
// # Errors
//
// [*tool.Error] with the code unavailable, or resource_exhausted where there is no
// space; those of [Lock.Bytes]. The old file is as it was.
func (l *Lock) Write(path string) error {
	content, err := l.Bytes()
	if err != nil {
		return err
	}
	if err := safefile.Replace(path, content, 0o644); err != nil { // it is not a secret, and goes into version control
		e := &tool.Error{
			Code: tool.CodeUnavailable, Message: fmt.Sprintf("%s cannot be written: %v", path, err), Err: err,
			Hint: "check who owns its directory",
		}
		if safefile.IsFull(err) {
			e.Code, e.Hint = tool.CodeResourceExhausted, "make space there: the disk, or what this user may use of it, is full"
		}
		return e
	}
	return nil
}
