package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"aead.dev/minisign"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pack"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// anchor is a line of a log that a key of the operator's has signed, so that whoever has the public key can tell
// whether a log still has it: a file of JSON, and minisign's signature of it next to it.
type anchor struct {
	Seq  uint64    `json:"seq"`
	Hash string    `json:"hash"`
	Time time.Time `json:"time"`
}

// maxAnchor bounds an anchor and its signature, in bytes.
const maxAnchor = 4 << 10

func signatureFile(file string) string { return file + ".minisig" }

// signAnchor signs the newest line of a log that was verified.
func signAnchor(ctx context.Context, words *passwords, m audit.Mark, keyFile, file string) error {
	key, err := pack.ReadKey(keyFile, func() (string, error) { return words.ask(ctx, keyFile) })
	if err != nil {
		return exit.With(exit.BadUsage, err)
	}
	text, err := json.Marshal(anchor{m.Seq, m.Hash, m.Time})
	if err != nil {
		return err
	}
	text = append(text, '\n')
	trusted := fmt.Sprintf("toolhost audit log up to line %d, %s", m.Seq, m.Hash)
	r := minisign.NewReader(bytes.NewReader(text))
	_, _ = io.Copy(io.Discard, r) // of bytes in memory; it is the form that minisign makes by default
	signature := append(r.SignWithComments(key, trusted, "signature of a toolhost audit log"), '\n')
	if err = safefile.Create(file, text, 0o644); err == nil {
		err = safefile.Create(signatureFile(file), signature, 0o644)
	}
	if errors.Is(err, fs.ErrExist) {
		return exit.Usage("there is a file already: "+sanitize.Text(file)+" or "+sanitize.Text(signatureFile(file)),
			"name another one: a proof is kept")
	}
	return err
}

// readAtMost reads a file that others sent.
func readAtMost(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxAnchor+1))
	if err == nil && len(text) > maxAnchor {
		err = fmt.Errorf("%s has more than %d bytes", sanitize.Text(file), maxAnchor)
	}
	return text, err
}

// readAnchor returns the line that an anchor is of, if it is signed with the key, which is given as a file or as
// the line of base64.
func readAnchor(file, public string) (audit.Mark, error) {
	var key minisign.PublicKey
	text := []byte(public)
	if named, err := readAtMost(public); err == nil {
		text = named
	}
	if err := key.UnmarshalText(bytes.TrimSpace(text)); err != nil {
		return audit.Mark{}, exit.Usage("--key "+sanitize.Quote(public, 80)+" is not a public key of minisign",
			"give the .pub file, or the line in it that begins with RW")
	}
	content, err := readAtMost(file)
	if err != nil {
		return audit.Mark{}, exit.With(exit.BadUsage, err)
	}
	signature, err := readAtMost(signatureFile(file))
	if err != nil {
		return audit.Mark{}, exit.With(exit.BadUsage, err)
	}
	var a anchor
	switch {
	case !minisign.Verify(key, content, signature):
		return audit.Mark{}, exit.With(exit.Failed, fmt.Errorf("%s is not signed with this key", sanitize.Text(file)))
	case json.Unmarshal(content, &a) != nil || a.Seq == 0 || !expectedHash().MatchString(a.Hash):
		return audit.Mark{}, exit.With(exit.Failed, fmt.Errorf("%s is signed, and names no line of an audit log", sanitize.Text(file)))
	}
	return audit.Mark{Seq: a.Seq, Hash: a.Hash, Time: a.Time}, nil
}
