package manifest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"

	"github.com/toolhost/toolhost/internal/wire"
)

// format is the version of the files. Each version reads only its own.
const format = 3

// Subject is a plugin's binary and how it is run, or a server.
type Subject struct {
	// Path is the binary's, absolute.
	Path string
	// Server is the digest of a server's identity, which stands for a binary; nil: it is
	// a binary.
	Server *Digest
	// Args are the arguments, without the program's name.
	Args []string
	// Env is the environment, NAME=value.
	Env []string
	// Config is the plugin's own configuration; empty: none.
	Config []byte
	// Host is the version of the host, which decides what a manifest has to pass
	// before it is remembered.
	Host string
}

const suffix = ".json"

// name returns the name of the subject's file: a digest, so that no value can be read
// from it. Subjects that differ in anything but the binary's content have different names.
func (s Subject) name() string {
	b := make([]byte, 0, 4<<10)
	b = appendNumber(b, format)
	b = appendNumber(b, wire.ProtocolVersion)
	b = appendTexts(b, []string{s.Host, s.Path, string(s.Config)})
	b = appendTexts(b, s.Args)
	b = appendTexts(b, s.Env)
	if s.Server != nil {
		b = append(b, s.Server[:]...)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]) + suffix
}

// isName reports whether a name is that of a subject's file: 64 lower-case hexadecimal
// digits, which format 1 had without the suffix.
func isName(name string) bool {
	digits := strings.TrimSuffix(name, suffix)
	return len(digits) == hex.EncodedLen(sha256.Size) && strings.Trim(digits, "0123456789abcdef") == ""
}

// Each part is written with its length, so that no two subjects read the same.

func appendNumber(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)) } //nolint:gosec // never below zero

func appendTexts(b []byte, all []string) []byte {
	b = appendNumber(b, len(all))
	for _, s := range all {
		b = append(appendNumber(b, len(s)), s...)
	}
	return b
}
