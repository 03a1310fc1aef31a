package control

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"
)

// writeTimeout bounds how long a reader may let a line wait.
const writeTimeout = 30 * time.Second

// lines writes lines of JSON, each as soon as it is there.
type lines struct {
	mu  sync.Mutex
	ctl *http.ResponseController
	enc *json.Encoder
}

func newLines(w http.ResponseWriter) *lines {
	w.Header().Set("Content-Type", "application/x-ndjson")
	return &lines{ctl: http.NewResponseController(w), enc: encoder(w)}
}

// encoder leaves what is in schemas and arguments as it is.
func encoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

// send writes a line, or none: what is no JSON is found before.
func (l *lines) send(e event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ctl.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	if err := l.enc.Encode(e); err != nil {
		return err
	}
	return l.ctl.Flush()
}
