package mcphttp

import (
	"crypto/tls"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/internal/safefile"
)

// maxPEM bounds the files of a certificate, in bytes.
const maxPEM = 1 << 20

// lookTime is how often the files are looked at, at most: with each new connection.
const lookTime = time.Second

// certificate is that of the server. It is read again when its files have changed. If they
// cannot be used then, the one before stays.
type certificate struct {
	files config.TLS
	log   hclog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	seen    [2]fs.FileInfo // the files of the current one
	looked  time.Time
	said    string // the last problem
}

// CheckCertificate returns why a server could not use the files of a certificate.
func CheckCertificate(files config.TLS) error { return (&certificate{files: files}).load() }

// get returns the certificate, for a handshake.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) < lookTime {
		return c.current, nil
	}
	c.looked = time.Now()
	if c.unchanged() {
		return c.current, nil
	}
	switch err := c.read(); {
	case err == nil:
		c.said = ""
		c.log.Info("the certificate was read again", "file", c.files.Cert)
	case c.said != err.Error(): // it may be a moment between the two files
		c.said = err.Error()
		c.log.Warn("the certificate has changed and cannot be used: the one before stays", "error", err)
	}
	return c.current, nil
}

// load reads the certificate for the first time.
func (c *certificate) load() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.read(); err != nil {
		return exit.With(exit.BadUsage, fmt.Errorf("mcp.tls: %w", err))
	}
	return nil
}

func (c *certificate) unchanged() bool {
	for i, path := range []string{c.files.Cert, c.files.Key} {
		info, err := os.Stat(path)
		if err != nil || !safefile.IsSame(info, c.seen[i]) {
			return false
		}
	}
	return true
}

// read replaces the current certificate.
func (c *certificate) read() error {
	var seen [2]fs.FileInfo
	var texts [2][]byte
	for i, path := range []string{c.files.Cert, c.files.Key} {
		f, info, err := safefile.OpenTarget(path)
		if err != nil {
			return fmt.Errorf("%s cannot be opened: %w", path, err)
		}
		texts[i], err = io.ReadAll(io.LimitReader(f, maxPEM))
		_ = f.Close()
		if err != nil {
			return fmt.Errorf("%s cannot be read: %w", path, err)
		}
		seen[i] = info
	}
	pair, err := tls.X509KeyPair(texts[0], texts[1])
	if err != nil { // the library's errors do not quote the key
		return fmt.Errorf("%s and %s are not a certificate and its key: %w", c.files.Cert, c.files.Key, err)
	}
	c.current, c.seen = &pair, seen
	return nil
}
