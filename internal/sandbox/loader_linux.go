//go:build linux && (amd64 || arm64)

package sandbox

import (
	"debug/elf"
	"io"
	"strings"

	"github.com/toolhost/toolhost/internal/safefile"
)

// loaderOf returns the program that the kernel starts a binary with (PT_INTERP of elf(5));
// empty: none, or it is not a binary.
func loaderOf(path string) string {
	if path == "" {
		return ""
	}
	program, _, err := safefile.OpenTarget(path)
	if err != nil {
		return ""
	}
	defer func() { _ = program.Close() }()
	f, err := elf.NewFile(program)
	if err != nil {
		return ""
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			text, _ := io.ReadAll(io.LimitReader(p.Open(), 4096))
			return strings.TrimRight(string(text), "\x00")
		}
	}
	return ""
}
