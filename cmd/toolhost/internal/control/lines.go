package control

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"
)

// How long a reader may keep a line waiting, and how fast it must at least read an answer, in
// bytes per second.
const (
	writeTimeout = 30 * time.Second
	slowestRead  = 1 << 20
)

// lines writes lines of JSON.
type lines struct {
	mu  sync.Mutex
	ctl *http.ResponseController
	enc *json.Encoder
}

func newLines(w http.ResponseWriter) *lines {
	w.Header().Set("Content-Type", "application/x-ndjson")
	return &lines{ctl: http.NewResponseController(w), enc: encoder(w)}
}

// encoder returns an encoder that leaves schemas and arguments as they are.
func encoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

// sendNow sends a line without delay.
func (l *lines) sendNow(e event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.within(writeTimeout); err != nil {
		return err
	}
	if err := l.enc.Encode(e); err != nil {
		return err
	}
	return l.ctl.Flush()
}

// sendAnswer sends the result, if there is one, and the end.
func (l *lines) sendAnswer(a Answer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.within(writeTimeout + time.Duration(a.size()/slowestRead)*time.Second); err != nil {
		return err
	}
	if a.Err == nil {
		if err := l.sendParts(a.Result); err != nil {
			return err
		}
	}
	if err := l.send(endingOf(a)); err != nil {
		return err
	}
	return l.ctl.Flush()
}

func (l *lines) within(d time.Duration) error { return l.ctl.SetWriteDeadline(time.Now().Add(d)) }

// send writes a whole line or nothing: a value is encoded before it is written.
func (l *lines) send(e event) error { return l.enc.Encode(e) }

// sendAll sends values, which may be none, a line each without delay.
func sendAll[T any](l *lines, all []T) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.within(writeTimeout); err != nil {
		return err
	}
	for _, v := range all {
		if err := l.enc.Encode(v); err != nil {
			return err
		}
	}
	return l.ctl.Flush()
}
