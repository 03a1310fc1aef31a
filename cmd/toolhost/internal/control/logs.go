package control

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// logs sends a plugin's journal, a line each, and goes on as lines are added if the client asks
// for it. A client that reads too slowly misses lines, as the numbers tell: the daemon keeps
// nothing for it.
func (s *Server) logs(w http.ResponseWriter, r *http.Request) {
	journal := s.service.Journal(r.PathValue("name"))
	if journal == nil {
		fail(w, http.StatusNotFound, tool.Errorf(tool.CodeNotFound, "there is no plugin %.64q", r.PathValue("name")).
			Fix("see toolhost plugins for the names"))
		return
	}
	end, err := s.beginReading()
	if err != nil {
		fail(w, http.StatusServiceUnavailable, err)
		return
	}
	defer end()
	follow := r.URL.Query().Get("follow") == "true"
	out := newLines(w)
	for last := uint64(0); ; {
		lines, more := journal.Since(last)
		if err := sendAll(out, lines); err != nil {
			return // the client is gone
		}
		if !follow {
			return
		}
		if len(lines) > 0 {
			last = lines[len(lines)-1].Number
		}
		select {
		case <-more:
		case <-r.Context().Done():
			return
		case <-s.ending:
			return
		}
	}
}

// Logs calls each with the lines of a plugin's journal, oldest first, until there are no more,
// or, if it follows them, until ctx or the daemon ends or each returns an error, which it returns.
//
// # Errors
//
// [tool.CodeNotFound] if there is no such plugin; [tool.CodeUnavailable] if the daemon is gone.
func (c *Client) Logs(ctx context.Context, name string, follow bool, each func(plugin.Line) error) error {
	path := "/v1/plugins/" + url.PathEscape(name) + "/logs"
	if follow {
		path += "?follow=true"
	}
	return eachLine(ctx, c, path, each)
}

// maxLine bounds a line that a client reads, in bytes: a question with its preview, and what JSON
// adds.
const maxLine = 4 << 20

// eachLine calls each with what the daemon answers, a value on each line, until there are no more,
// ctx ends or each returns an error, which it returns.
func eachLine[T any](ctx context.Context, c *Client, path string, each func(T) error) error {
	resp, err := c.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return c.explain(err)
	}
	defer func() { _ = resp.Body.Close() }()
	in := bufio.NewScanner(resp.Body)
	in.Buffer(nil, maxLine)
	for in.Scan() {
		var line T
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			return c.explain(err)
		}
		if err := each(line); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return c.explain(in.Err())
}
