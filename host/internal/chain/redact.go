package chain

import (
	"bytes"
	"encoding/json"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/redact"
)

// redacted returns args with the value of each sensitive key, at any depth,
// replaced by "[redacted]", and the digest of the result: the digest of a short
// secret would reveal it. If nothing is replaced, both describe args unchanged.
// Keys are compared case-insensitively, as encoding/json does.
//
// The input is nil if args are not JSON, or larger than [redact.MaxInput] after
// redaction. It may share memory with args.
func redacted(args []byte, sensitive []string) (input json.RawMessage, digest string) {
	if len(sensitive) == 0 || !json.Valid(args) {
		return small(args), audit.Digest(args)
	}
	return hiding(args, func(key string) bool { return redact.Among(sensitive, key) })
}

// redactUnknown is [redacted] for arguments that no schema has accepted. It also
// replaces the values of unknown keys, as a secret can stand under a mistyped
// name. It replaces arguments that are not an object as a whole; for text that
// is not JSON, both results are empty.
func redactUnknown(args []byte, sensitive []string, known map[string]bool) (input json.RawMessage, digest string) {
	if len(args) == 0 {
		return nil, audit.Digest(nil)
	}
	if !json.Valid(args) {
		return nil, ""
	}
	if bytes.TrimLeft(args, " \t\r\n")[0] != '{' {
		return json.RawMessage(redact.Mark), audit.Digest([]byte(redact.Mark))
	}
	return hiding(args, func(key string) bool { return !known[key] || redact.Among(sensitive, key) })
}

// hiding returns args, which must be JSON, without the values that hides reports.
func hiding(args []byte, hides func(key string) bool) (input json.RawMessage, digest string) {
	kept, digest := redact.Values(args, hides, redact.MaxInput+1)
	if digest == "" {
		return small(args), audit.Digest(args)
	}
	if len(kept) <= redact.MaxInput {
		input = kept
	}
	return input, digest
}

// small returns args if they fit in a record, and otherwise nil.
func small(args []byte) json.RawMessage {
	if len(args) > redact.MaxInput || !json.Valid(args) {
		return nil
	}
	return args
}
