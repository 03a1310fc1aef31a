package main

import (
	"container/list"
	"context"
	"errors"
	"sync"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxSessions is for how many sessions it is known what they last worked with:
// nobody says when one ends. The one that was idle for longest is forgotten.
const maxSessions = 4096

// recent knows the file that each session last worked with. What one session
// did is shown to no other.
type recent struct {
	mu       sync.Mutex
	most     int
	sessions map[string]*list.Element
	order    *list.List // of visits, the latest first
}

type visit struct{ session, path string }

func newRecent(most int) *recent {
	return &recent{most: most, sessions: map[string]*list.Element{}, order: list.New()}
}

// note says that the call's session worked with a file. A call without a session
// leaves no trace.
func (r *recent) note(ctx context.Context, path string) {
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
	if r.order.Len() > r.most {
		oldest := r.order.Back()
		delete(r.sessions, r.order.Remove(oldest).(visit).session)
	}
}

// choose is the given buffer, or else the file that the call's session last
// worked with.
func (r *recent) choose(ctx context.Context, given string) (string, error) {
	if given != "" {
		return given, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.sessions[tool.CallFrom(ctx).Session]; e != nil {
		return e.Value.(visit).path, nil
	}
	return "", errors.New("this session has read or written no file yet (say which with buffer, the path of a file)")
}
