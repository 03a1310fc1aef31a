// Package embedded runs a NATS server inside a program, for a fleet of one machine. Begin with
// [Start].
package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Config says how the server runs.
type Config struct {
	// Port is that of loopback. Default: 0, any free one.
	Port int
	// Keys are the public halves of the keys that may log in and do everything: the messages of a fleet
	// are its own, and every user of a machine can connect to its loopback address. Required.
	Keys []string
	// Peers are those of others, which may do what [fleet.Needs] says. Default: none.
	Peers []string
	// StoreDir is where JetStream keeps what it stores. Default: empty, and the server has no
	// JetStream, and so no durable calls.
	StoreDir string
	// MaxPayload bounds a message, in bytes. Default: 0, NATS's own, 1 MiB.
	MaxPayload int32
}

// Server is a NATS server of this process.
type Server struct {
	server  *server.Server
	options *server.Options
	store   *os.File // in the StoreDir, locked; nil: there is none
}

// startTime bounds how long the server may take until it accepts connections.
const startTime = 10 * time.Second

// Start starts a server on a loopback address.
//
// # Errors
//
// [tool.CodeUnavailable] if the port is taken, or what is stored cannot be used, such as by a second server.
func Start(c Config) (_ *Server, err error) {
	o := &server.Options{
		ServerName: "toolhost", Host: "127.0.0.1", Port: c.Port, NoSigs: true, NoLog: true,
		MaxPayload: c.MaxPayload, JetStream: c.StoreDir != "", StoreDir: c.StoreDir,
		DisableJetStreamBanner: true, MaxControlLine: 4 << 10,
	}
	if o.Nkeys, err = usersOf(c.Keys, c.Peers); err != nil {
		return nil, err
	}
	out := &Server{options: o}
	if c.StoreDir != "" {
		if out.store, err = takeStore(c.StoreDir); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				_ = out.store.Close() // which unlocks it
			}
		}()
	}
	// The server would only log that it cannot listen.
	ln, err := net.Listen("tcp", net.JoinHostPort(o.Host, strconv.Itoa(o.Port)))
	if err != nil {
		return nil, unavailable(err)
	}
	o.Port = ln.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // of a TCP listener
	if err := ln.Close(); err != nil {
		return nil, unavailable(err)
	}
	if out.server, err = server.NewServer(o); err != nil {
		return nil, unavailable(err)
	}
	out.server.Start()
	if !out.server.ReadyForConnections(startTime) {
		out.server.Shutdown()
		return nil, unavailable(fmt.Errorf("it does not accept connections within %v", startTime))
	}
	return out, nil
}

// takeStore locks a directory, as two servers would damage what they store there.
func takeStore(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, unavailable(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the directory is the operator's
	if err != nil {
		return nil, unavailable(err)
	}
	err = safefile.Lock(f, safefile.Exclusive, time.Time{})
	if err == nil || errors.Is(err, errors.ErrUnsupported) {
		return f, nil
	}
	_ = f.Close()
	e := unavailable(fmt.Errorf("%s: %w", dir, err))
	if errors.Is(err, safefile.ErrLocked) {
		e = unavailable(fmt.Errorf("another one stores durable calls in %s", dir))
		e.OperatorHint = "name another directory under nats.store, or join the fleet of the other server by its URL"
	}
	return nil, e
}

func unavailable(err error) *tool.Error {
	e := tool.Errorf(tool.CodeUnavailable, "the embedded NATS server did not start: %w", err)
	e.OperatorHint = "choose another port with embedded:PORT, or name a server that runs"
	return e
}

// URL is where clients connect to.
func (s *Server) URL() string { return s.server.ClientURL() }

// Close ends the server, and waits until it has ended or ctx ends.
func (s *Server) Close(ctx context.Context) error {
	s.server.Shutdown()
	done := make(chan struct{})
	go func() {
		s.server.WaitForShutdown()
		if s.store != nil {
			_ = s.store.Close() // which unlocks it
		}
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// SetKeys replaces [Config.Keys] and [Config.Peers]. Connections of others end.
//
// # Errors
//
// [tool.CodeInvalidArguments] for no keys, or one that is not a key: nothing changes.
func (s *Server) SetKeys(keys, peers []string) error {
	users, err := usersOf(keys, peers)
	if err != nil {
		return err
	}
	o := s.options.Clone()
	o.Nkeys = users
	if err := s.server.ReloadOptions(o); err != nil {
		return tool.Errorf(tool.CodeInvalidArguments, "the keys of the embedded NATS server have not changed: %w", err)
	}
	return nil
}

// usersOf returns the users as the server has them. Without any, it would let everybody in. A key that is
// among both may do everything.
func usersOf(keys, peers []string) (users []*server.NkeyUser, err error) {
	if len(keys) == 0 {
		return nil, tool.Errorf(tool.CodeInvalidArguments, "an embedded NATS server needs the keys of those who may log in")
	}
	seen := map[string]bool{}
	add := func(keys []string, may *server.Permissions) {
		for _, key := range keys {
			if !seen[key] {
				seen[key] = true
				users = append(users, &server.NkeyUser{Nkey: key, Permissions: may})
			}
		}
	}
	publish, subscribe := fleet.Needs(true)
	add(keys, nil)
	add(peers, &server.Permissions{
		Publish: &server.SubjectPermission{Allow: publish}, Subscribe: &server.SubjectPermission{Allow: subscribe},
	})
	return users, nil
}
