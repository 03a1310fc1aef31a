package pluginrun

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/safefile"
)

// ErrIncomplete is the cause if a binary is not started because a part of it is missing, as
// while it is copied. That is not a failure of the plugin, and does not count for backoff.
var ErrIncomplete = errors.New("the file is not all there")

// checkComplete refuses a binary of which a part is missing. A file system that does not answer
// before ctx ends is left to the start, which says so.
func checkComplete(ctx context.Context, c plugin.Candidate) error {
	found := make(chan string, 1)
	go func() { found <- missingPart(c.Binary()) }()
	select {
	case missing := <-found:
		if missing == "" {
			return nil
		}
		return notPinned(notStarted(c.Name, fmt.Errorf("%w: %s: %s", ErrIncomplete, c.Binary(), missing), "is it still being copied?"))
	case <-ctx.Done():
		return nil
	}
}

// missingPart says what is missing of a binary: all of it, or, of an ELF file, what its
// headers say comes after its end. Empty: nothing is known to be missing, as for a script, or
// a file that cannot be read or understood, of which the system knows why it does not run.
func missingPart(path string) string {
	f, info, err := safefile.Open(path, os.O_RDONLY)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	size := info.Size()
	if size == 0 {
		return "it is empty"
	}
	magic := make([]byte, min(size, int64(len(elf.ELFMAG))))
	if _, err := f.ReadAt(magic, 0); err != nil || string(magic) != elf.ELFMAG[:len(magic)] {
		return ""
	}
	const cut = "its ELF image is incomplete: "
	image, err := elf.NewFile(io.NewSectionReader(f, 0, size))
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return cut + fmt.Sprintf("its headers are not all in its %d bytes", size)
	}
	if err != nil {
		return ""
	}
	var end uint64
	for _, p := range image.Progs {
		end = max(end, p.Off+p.Filesz)
	}
	for _, s := range image.Sections {
		if s.Type != elf.SHT_NOBITS && s.Type != elf.SHT_NULL {
			end = max(end, s.Offset+s.FileSize)
		}
	}
	if end > uint64(size) { //nolint:gosec // not below zero
		return cut + fmt.Sprintf("it has %d of %d bytes", size, end)
	}
	return ""
}
