package plugin

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

// A process can have a lease on a file of its user's (fcntl(2), F_SETLEASE): who opens the
// file, as execve does, waits until it gives the lease up, by default for 45 s at most.
// Whoever keeps the file open is asked for no lease.
const (
	leaseGrace = time.Second // what an honest holder, such as a file server, may take
	leasePace  = 20 * time.Millisecond
)

// maxInterpreters is how many scripts the kernel follows, and the loader.
const maxInterpreters = 6

// held are open files.
type held []*os.File

func (h held) close() {
	for _, f := range h {
		_ = f.Close()
	}
}

// hold opens a program, and those that it names as its interpreter or loader, in a way in
// which leases are not waited for. Until they are closed no lease is given. What cannot
// be opened is left to execve, which knows better.
func hold(ctx context.Context, path string) (h held, err error) {
	for range maxInterpreters {
		f, err := openUnleased(ctx, path)
		if f == nil || err != nil {
			return h, err
		}
		h = append(h, f)
		if path = interpreter(f); path == "" {
			break
		}
	}
	return h, nil
}

// openUnleased opens a regular file; nil: it cannot be read, or is none.
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
			return nil, &startFailure{fmt.Sprintf("another process of this user holds a lease on %s and does not give it up "+
				"(/proc/locks names it); end that process and start the plugin again", path)}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// interpreter is what a program says that runs it; empty: it needs none.
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
