package pluginrun

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A process can have a lease on a file of its user (fcntl(2), F_SETLEASE). Opening the file,
// as execve does, then waits until the process gives the lease up, by default for 45 s at
// most. No lease is given on a file that is open.
const (
	leaseGrace = time.Second // how long an honest holder, such as a file server, may take
	leasePace  = 20 * time.Millisecond
)

// maxInterpreters is how many scripts the kernel follows, and the loader.
const maxInterpreters = 6

// openFiles are files that are kept open.
type openFiles []*os.File

func (o openFiles) close() {
	for _, f := range o {
		_ = f.Close()
	}
}

// openProgram opens a program, and those that it names as its interpreter or loader, without
// waiting for leases. Until they are closed no lease is given. Files that cannot be opened
// are left to execve, which knows why.
func openProgram(ctx context.Context, path string) (open openFiles, err error) {
	for range maxInterpreters {
		f, err := openUnleased(ctx, path)
		if f == nil || err != nil {
			return open, err
		}
		open = append(open, f)
		if path = interpreter(f); path == "" {
			break
		}
	}
	return open, nil
}

// openUnleased opens a regular file; nil: it cannot be read, or is not one.
func openUnleased(ctx context.Context, path string) (*os.File, error) {
	at, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil
	}
	defer func() { _ = unix.Close(at) }()
	var stat unix.Stat_t
	if unix.Fstat(at, &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG { // opening a device may do something
		return nil, nil
	}
	tick := time.NewTicker(leasePace)
	defer tick.Stop()
	for until := time.Now().Add(leaseGrace); ; {
		fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(at), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), path), nil
		case err != unix.EWOULDBLOCK && err != unix.EINTR:
			return nil, nil
		case time.Now().After(until):
			return nil, &startFailure{reason: fmt.Sprintf("another process of this user holds a lease on %s and does not give it up "+
				"(/proc/locks names it); end that process and start the plugin again", path)}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// interpreter returns the interpreter or loader that a program names; empty: it needs none.
func interpreter(f *os.File) string {
	begin := make([]byte, 256) // as much as the kernel reads of a script
	n, _ := f.ReadAt(begin, 0)
	if line, ok := bytes.CutPrefix(begin[:n], []byte("#!")); ok {
		line, _, _ = bytes.Cut(line, []byte("\n"))
		if words := strings.Fields(string(line)); len(words) > 0 {
			return words[0]
		}
		return ""
	}
	var header elf.Header64
	if binary.Read(bytes.NewReader(begin[:n]), binary.NativeEndian, &header) != nil ||
		string(header.Ident[:4]) != elf.ELFMAG || header.Ident[elf.EI_CLASS] != byte(elf.ELFCLASS64) {
		return ""
	}
	programs := io.NewSectionReader(f, int64(header.Phoff), 56*int64(min(header.Phnum, 64)))
	for {
		var p elf.Prog64
		if binary.Read(programs, binary.NativeEndian, &p) != nil {
			return ""
		}
		if p.Type == uint32(elf.PT_INTERP) {
			path, _ := io.ReadAll(io.NewSectionReader(f, int64(p.Off), int64(min(p.Filesz, unix.PathMax))))
			return string(bytes.TrimRight(path, "\x00"))
		}
	}
}
