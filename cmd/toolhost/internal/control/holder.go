package control

import (
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Holder says who has a socket.
type Holder struct {
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
	Root  string    `json:"root"`
}

// heldError is the error of who comes second.
func heldError(path string, h Holder) error {
	if h.PID == 0 { // it is just beginning
		return &tool.Error{
			Code: tool.CodeAlreadyExists, Message: "another daemon has the socket " + path,
			Hint: "end it first, or give this one another socket with --socket",
		}
	}
	return &tool.Error{
		Code: tool.CodeAlreadyExists,
		Message: fmt.Sprintf("another daemon has the socket %s: process %d, since %s, with the root %s",
			path, h.PID, h.Since.Local().Format(time.DateTime), h.Root),
		Hint: fmt.Sprintf("end it first with kill %d, or give this one another socket with --socket", h.PID),
	}
}

// maxPath is how long the address of a Unix socket may be, in bytes: sun_path has a
// byte more, for the end.
func maxPath() int {
	if runtime.GOOS == "linux" {
		return 107
	}
	return 103
}

// CheckPath says what is wrong with the path of a socket.
//
// # Errors
//
// [tool.CodeInvalidArguments] where it is too long, or not absolute.
func CheckPath(path string) error {
	switch {
	case !filepath.IsAbs(path):
		return &tool.Error{Code: tool.CodeInvalidArguments, Message: "the path of the socket is not absolute: " + path, Hint: "name another with --socket"}
	case len(path) > maxPath():
		return &tool.Error{
			Code: tool.CodeInvalidArguments, Message: fmt.Sprintf("the path of the socket has %d bytes, and this system takes %d: %s", len(path), maxPath(), path),
			Hint: "name a shorter one with --socket",
		}
	}
	return nil
}

// Files are those of a daemon on a socket: the socket, and the lock beside it.
func Files(socket string) []string { return []string{socket, lockPath(socket)} }

// lockPath is the file beside a socket that says who has it. Its name is one that
// nothing else has: toolhost.lock and its like belong to others.
func lockPath(socket string) string { return socket + ".daemon" }
