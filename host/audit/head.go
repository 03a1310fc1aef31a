package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/state"
	"github.com/toolhost/toolhost/internal/trusted"
)

// HeadPath returns where a user's hosts remember the newest line of a log: a file in the
// directory for state, by the path of the log and the name of the machine, as several machines
// may share the directory. Lines that were cut off at the end leave no trace in the log, and a log that
// was removed none at all.
//
// # Errors
//
// A plain error if the system does not say where the user's home is.
func HeadPath(log string) (string, error) {
	dir, err := state.Dir()
	if err != nil {
		return "", err
	}
	if log, err = filepath.Abs(log); err != nil {
		return "", err
	}
	machine, _ := os.Hostname() // without it, paths alone tell logs apart
	return filepath.Join(dir, "audit-heads", Digest([]byte(machine + "\n" + log))[len(digestPrefix):][:16]+".json"), nil
}

// maxHead bounds the file of a head, in bytes.
const maxHead = 16 << 10

// ReadHead reads what [Options].Head says to write; the zero value if there is no file.
//
// # Errors
//
// A plain error, with what to do, for a file that cannot be read or is damaged.
func ReadHead(path string) (h Mark, err error) {
	text, err := trusted.Read(path, maxHead)
	if errors.Is(err, os.ErrNotExist) {
		return Mark{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	if _, ok := h.link(); err == nil && (!ok || h.Seq == 0) {
		err = errors.New("it names no line")
	}
	if err != nil {
		return Mark{}, fmt.Errorf("%s, which remembers the newest line of the audit log, cannot be used: %w: "+
			"mend or remove it", path, err)
	}
	return h, nil
}

// link returns the head's place in the chain.
func (h Mark) link() (l link, ok bool) {
	l.seq = h.Seq
	digits, found := strings.CutPrefix(h.Hash, digestPrefix)
	return l, found && decodeSum(&l.hash, []byte(digits)) && h.Seq <= maxSeq
}

// headPause is the least time between two writes of a head, except at the end.
const headPause = time.Second

// headFile is where a log's writer remembers the newest line. It is written in place and not
// synced: after a power failure it may be older than the log, or newer by lines that were lost.
type headFile struct {
	path  string
	log   string
	last  uint64    // the number of the line that was written
	due   time.Time // when to write next
	fails bool      // the failure was told
}

// remember writes the newest line, at most once a pause unless it is the end. The log is locked,
// so that no other writer's newer line is replaced.
func (h *headFile) remember(newest link, end bool, warn func(string)) {
	now := time.Now()
	if h.path == "" || newest.seq <= h.last || !end && now.Before(h.due) {
		return
	}
	h.due, h.last = now.Add(headPause), newest.seq
	head := Mark{File: h.log, Seq: newest.seq, Hash: newest.hash.String(), Time: now.UTC().Truncate(time.Second)}
	if err := h.write(head); err != nil && !h.fails {
		h.fails = true
		warn(fmt.Sprintf("the newest line of the audit log %s is not remembered in %s, "+
			"so the removal of the log may go unnoticed: %v", h.log, h.path, err))
	}
}

func (h *headFile) write(newest Mark) error {
	text, err := json.Marshal(newest)
	if err != nil {
		return err
	}
	file, err := create(h.path)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if _, err = file.WriteAt(text, 0); err == nil {
		err = file.Truncate(int64(len(text)))
	}
	return errors.Join(err, file.Close())
}

// firstTime returns the time of a log's first line.
func firstTime(file io.ReaderAt) (time.Time, bool) {
	text := make([]byte, maxLine)
	n, err := file.ReadAt(text, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return time.Time{}, false
	}
	return timeOf(text[:n])
}
