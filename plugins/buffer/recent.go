package main

import (
	"container/list"
	"context"
	"errors"
	"sync"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxSessions bounds how many sessions are remembered, because the plugin is not told
// when one ends. The session that was idle the longest is forgotten.
const maxSessions = 4096

// recent remembers the file that each session last worked with.
type recent struct {
	mu       sync.Mutex
	limit    int // of sessions
	sessions map[string]*list.Element
	order    *list.List // of visits, the latest first
}

type visit struct{ session, path string }

func newRecent(limit int) *recent {
	return &recent{limit: limit, sessions: map[string]*list.Element{}, order: list.New()}
}

// set remembers the file for the call's session, if it has one.
func (r *recent) set(ctx context.Context, path string) {
	session := tool.CallFrom(ctx).Session
	if session == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.sessions[session]; e != nil {
		e.Value = visit{session, path}
		r.order.MoveToFront(e)
		return
	}
	r.sessions[session] = r.order.PushFront(visit{session, path})
	if r.order.Len() > r.limit {
		oldest := r.order.Back()
		delete(r.sessions, r.order.Remove(oldest).(visit).session)
	}
}

// get returns the given buffer, or else the file that the call's session last worked
// with.
func (r *recent) get(ctx context.Context, given string) (string, error) {
	if given != "" {
		return given, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.sessions[tool.CallFrom(ctx).Session]; e != nil {
		return e.Value.(visit).path, nil
	}
	return "", errors.New("this session has not read or written a file yet (give the path of one as buffer)")
}
