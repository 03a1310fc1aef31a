//go:build linux && (amd64 || arm64)

package sandbox

import (
	"debug/elf"
	"io"
	"strings"
)

// loaderOf returns the program that the kernel starts a binary with (PT_INTERP of elf(5));
// empty: none, or it is not a binary.
func loaderOf(path string) string {
	if path == "" {
		return ""
	}
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			text, _ := io.ReadAll(io.LimitReader(p.Open(), 4096))
			return strings.TrimRight(string(text), "\x00")
		}
	}
	return ""
}
