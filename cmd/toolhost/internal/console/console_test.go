package console

import (
	"bytes"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/test/require"
)

// What is not used ends by itself: a link, a page, unless it has a request in progress, and then the port.
func TestWhatIsNotUsedEnds(t *testing.T) {
	t.Parallel()
	hold, held := make(chan struct{}), make(chan struct{})
	c := New(Options{
		Serve:  func(http.ResponseWriter, *http.Request, control.Person) { close(held); <-hold },
		Record: func(audit.Record, error) {}, Log: hclog.NewNullLogger(),
	})
	c.linkTime, c.idle = 10*time.Millisecond, 300*time.Millisecond
	link := require.Must(c.Link(control.Person{}, false))(t)
	origin, word, _ := strings.Cut(link, "/#")
	ended := func(what func() bool) {
		t.Helper()
		for !what() {
			time.Sleep(time.Millisecond)
		}
	}
	count := func() (links, pages int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.links), len(c.pages)
	}
	closed := func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(origin, "http://")) //nolint:noctx // at once
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}
	ended(func() bool { links, _ := count(); return links == 0 })
	if _, _, err := c.exchange(word, nil, nil); err == nil {
		t.Error("the link is good after its time")
	}
	c.linkTime = time.Hour
	c.mu.Lock()
	c.door = nil // a port of its own, so that none ends meanwhile
	c.mu.Unlock()
	link = require.Must(c.Link(control.Person{}, false))(t)
	origin, word, _ = strings.Cut(link, "/#")
	path, cookie, err := c.exchange(word, nil, nil)
	require.NoError(t, err)
	go func() {
		r, _ := http.NewRequest(http.MethodPost, origin+"/p/"+path+"/s/m", bytes.NewReader([]byte("{}"))) //nolint:noctx // until it is let go
		r.Header = http.Header{"Content-Type": {"application/json"}, "Connect-Protocol-Version": {"1"}, "Origin": {origin}}
		r.AddCookie(&http.Cookie{Name: c.door.cookie(), Value: cookie})
		if res, err := http.DefaultClient.Do(r); err == nil {
			_ = res.Body.Close()
		}
	}()
	<-held
	time.Sleep(2 * c.idle)
	if _, pages := count(); pages != 1 {
		t.Error("a page that is looked at has ended")
	}
	close(hold)
	ended(func() bool { _, pages := count(); return pages == 0 })
	ended(closed)
	c.End()
	if _, err := c.Link(control.Person{}, false); err == nil {
		t.Error("there is a link after the end")
	}
}
