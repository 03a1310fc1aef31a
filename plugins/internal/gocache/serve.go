package gocache

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// request and response are those of GOCACHEPROG (go doc cmd/go/internal/cacheprog).
type request struct {
	ID       int64
	Command  string
	ActionID []byte
	OutputID []byte
	BodySize int64
}

type response struct {
	ID            int64
	Err           string     `json:",omitempty"`
	KnownCommands []string   `json:",omitempty"`
	Miss          bool       `json:",omitempty"`
	OutputID      []byte     `json:",omitempty"`
	Size          int64      `json:",omitempty"`
	Time          *time.Time `json:",omitempty"`
	DiskPath      string     `json:",omitempty"`
}

// serve answers the go command until that is done. What it puts is put into own; what it asks
// for is looked for there, and then in other.
func serve(in io.Reader, out io.Writer, own, other store) error {
	answers := json.NewEncoder(out)
	if err := answers.Encode(response{KnownCommands: []string{"get", "put", "close"}}); err != nil {
		return err
	}
	for lines := bufio.NewReaderSize(in, 64<<10); ; {
		r, err := read(lines)
		if errors.Is(err, io.EOF) { // the go command was ended
			return nil
		}
		if err != nil {
			return err
		}
		answer := response{ID: r.ID}
		switch r.Command {
		case "get":
			answer.get(r, own, other)
		case "put":
			if answer.DiskPath, err = put(lines, r, own); err != nil {
				answer.Err = err.Error()
			}
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
		if r.Command == "close" {
			own.trim()
			return nil
		}
	}
}

// read reads a request. Lines can be empty.
func read(lines *bufio.Reader) (r request, err error) {
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return r, err
		}
		if len(line) <= 1 {
			continue
		}
		if err := json.Unmarshal(line, &r); err != nil {
			return r, err
		}
		if r.Command != "close" && len(r.ActionID) == 0 || r.Command == "put" && len(r.OutputID) == 0 {
			return r, fmt.Errorf("a request %s without an ID", r.Command)
		}
		return r, nil
	}
}

func (a *response) get(r request, own, other store) {
	o, ok := own.get(r.ActionID)
	if ok {
		mark(own.name(r.ActionID, "a"))
		mark(o.path)
	} else {
		o, ok = other.get(r.ActionID)
	}
	if a.Miss = !ok; ok {
		a.OutputID, a.Size, a.Time, a.DiskPath = o.id, o.size, &o.time, o.path
	}
}

// put keeps what follows the request: a JSON string of the bytes in base64, if there are any. All
// of it is read, whatever becomes of it.
func put(lines *bufio.Reader, r request, own store) (path string, err error) {
	if r.BodySize == 0 {
		return own.put(r.ActionID, r.OutputID, 0, strings.NewReader(""))
	}
	if _, err := lines.ReadString('"'); err != nil {
		return "", err
	}
	text := io.LimitReader(lines, int64(base64.StdEncoding.EncodedLen(int(r.BodySize))))
	path, err = own.put(r.ActionID, r.OutputID, r.BodySize, base64.NewDecoder(base64.StdEncoding, text))
	_, _ = io.Copy(io.Discard, text)
	_, more := lines.ReadString('"')
	return path, errors.Join(err, more)
}
