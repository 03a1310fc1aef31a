// Package embedded runs a NATS server inside a program, for a fleet of one machine. Begin with
// [Start].
package embedded

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Config says how the server runs.
type Config struct {
	// Port is that of loopback. Default: 0, any free one.
	Port int
	// Keys are the public halves of the keys that may log in: the messages of a fleet are its own,
	// and every user of a machine can connect to its loopback address. Required.
	Keys []string
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
}

// startTime bounds how long the server may take until it accepts connections.
const startTime = 10 * time.Second

// Start starts a server on a loopback address.
//
// # Errors
//
// [tool.CodeUnavailable] if the port is taken, or what is stored cannot be used.
func Start(c Config) (*Server, error) {
	o := &server.Options{
		ServerName: "toolhost", Host: "127.0.0.1", Port: c.Port, NoSigs: true, NoLog: true,
		MaxPayload: c.MaxPayload, JetStream: c.StoreDir != "", StoreDir: c.StoreDir,
		DisableJetStreamBanner: true, MaxControlLine: 4 << 10,
	}
	var err error
	if o.Nkeys, err = usersOf(c.Keys); err != nil {
		return nil, err
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
	s, err := server.NewServer(o)
	if err != nil {
		return nil, unavailable(err)
	}
	s.Start()
	if !s.ReadyForConnections(startTime) {
		s.Shutdown()
		return nil, unavailable(fmt.Errorf("it does not accept connections within %v", startTime))
	}
	return &Server{s, o}, nil
}

func unavailable(err error) error {
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
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// SetKeys replaces the public halves of the keys that may log in. Connections of others end.
//
// # Errors
//
// [tool.CodeInvalidArguments] for no keys, or one that is not a key: nothing changes.
func (s *Server) SetKeys(keys ...string) error {
	users, err := usersOf(keys)
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

// usersOf returns the users with these keys. Without any, the server would let everybody in.
func usersOf(keys []string) (users []*server.NkeyUser, err error) {
	for _, key := range keys {
		users = append(users, &server.NkeyUser{Nkey: key})
	}
	if len(users) == 0 {
		return nil, tool.Errorf(tool.CodeInvalidArguments, "an embedded NATS server needs the keys of those who may log in")
	}
	return users, nil
}
