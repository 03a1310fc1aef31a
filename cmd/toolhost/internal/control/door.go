package control

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Where MCP clients of commands come in, by a connection that is handed over to what serves them.
const (
	doorPath     = "/mcp"
	doorProtocol = "toolhost-mcp"
	doorWhole    = "whole" // in the query: see [Door]
	maxDoors     = 128     // at a time
)

// Door is the connection of an MCP client that a command passes on: its lines, each way.
type Door struct {
	*net.UnixConn
	in io.Reader
	// Whole says that the client reads all answers although it has closed its end.
	Whole bool
}

// Read implements [io.Reader].
func (d *Door) Read(p []byte) (int, error) { return d.in.Read(p) }

// Write implements [io.Writer]. A client has no longer to read than one of a call.
func (d *Door) Write(p []byte) (int, error) {
	_ = d.SetWriteDeadline(time.Now().Add(writeTimeout + time.Duration(len(p)/slowestRead)*time.Second))
	return d.UnixConn.Write(p)
}

// serveDoor hands a connection over.
func (s *Server) serveDoor(w http.ResponseWriter, r *http.Request) {
	by := CallerOf(r.Context())
	known := s.Door != nil && r.Header.Get("Upgrade") == doorProtocol
	if known {
		_, _, known = s.doors.Take(by.Name, 1)
	}
	if !known {
		http.Error(w, "no more MCP clients are served", http.StatusServiceUnavailable)
		return
	}
	defer s.doors.Give(by.Name, 1)
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Time{})
	d := &Door{in: buffered.Reader, Whole: r.URL.Query().Has(doorWhole)}
	if c, ok := conn.(*connection); ok {
		d.UnixConn, _ = c.Conn.(*net.UnixConn)
	}
	const switched = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + doorProtocol + "\r\n\r\n"
	if _, err := io.WriteString(conn, switched); err == nil && d.UnixConn != nil {
		s.Door(by, d)
	}
}

// OpenDoor connects an MCP client with the daemon, which serves it. Whole is as in [Door].
//
// # Errors
//
// [tool.CodeUnavailable] if the daemon is gone, or serves no more clients.
func (c *Client) OpenDoor(ctx context.Context, whole bool) (*Door, error) {
	url := "http://toolhost" + doorPath
	if whole {
		url += "?" + doorWhole
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", doorProtocol)
	to, err := connectTo(c.path, c.foreign)
	conn, ok := to.(*net.UnixConn)
	if err != nil || !ok {
		return nil, c.explain(err)
	}
	in := bufio.NewReader(conn)
	_ = conn.SetDeadline(time.Now().Add(connectTimeout))
	var answer *http.Response
	if err = r.Write(conn); err == nil {
		answer, err = http.ReadResponse(in, r) //nolint:bodyclose // the connection is
	}
	if err == nil && answer.StatusCode != http.StatusSwitchingProtocols {
		err = tool.Errorf(tool.CodeUnavailable, "the daemon serves no more MCP clients (%s)", answer.Status)
	}
	if err != nil {
		_ = conn.Close()
		return nil, c.explain(err)
	}
	_ = conn.SetDeadline(time.Time{})
	return &Door{UnixConn: conn, in: in, Whole: whole}, nil
}
