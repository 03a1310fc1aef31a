package control

import (
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Holder is the daemon that has a socket.
type Holder struct {
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
	Root  string    `json:"root"`
}

// heldError returns the error of a second daemon on a socket.
func heldError(path string, h Holder) error {
	if h.PID == 0 { // it is just starting
		return tool.Errorf(tool.CodeAlreadyExists, "another daemon has the socket %s", path).
			Try("end it first, or give this one another socket with --socket")
	}
	return tool.Errorf(tool.CodeAlreadyExists, "another daemon has the socket %s: process %d, since %s, with the root %s",
		path, h.PID, h.Since.Local().Format(time.DateTime), h.Root).
		Try(fmt.Sprintf("end it first with kill %d, or give this one another socket with --socket", h.PID))
}

// maxPath returns how long the address of a Unix socket may be, in bytes: sun_path has one
// byte more, for the terminator.
func maxPath() int {
	if runtime.GOOS == "linux" {
		return 107
	}
	return 103
}

// CheckPath checks the path of a socket.
//
// # Errors
//
// [tool.CodeInvalidArguments] if the path is too long, or not absolute.
func CheckPath(path string) error {
	switch {
	case !filepath.IsAbs(path):
		return tool.Errorf(tool.CodeInvalidArguments, "the path of the socket is not absolute: %s", path).
			Try("name another with --socket")
	case len(path) > maxPath():
		return tool.Errorf(tool.CodeInvalidArguments,
			"the path of the socket has %d bytes, and this system takes %d: %s", len(path), maxPath(), path).
			Try("name a shorter one with --socket")
	}
	return nil
}

// Files returns the files of a daemon on a socket: the socket and its lock.
func Files(socket string) []string { return []string{socket, lockPath(socket)} }

// lockPath returns the path of the file that says which daemon has a socket. Its suffix is
// unique: names such as toolhost.lock belong to others.
func lockPath(socket string) string { return socket + ".daemon" }
