// Package console is the daemon's page for its operator's browser: its doors, and the files of the page, whose
// data is the API of [control]. Begin with [New].
//
// Whoever can reach the loopback reaches the address: other users, their servers on other ports, and pages of
// strangers in the operator's browser. A link is good once. What it is exchanged for is a cookie of a path that
// has a secret of its own, as browsers send cookies to all ports of an address.
package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/crowd"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Bounds. Of links and pages, one more ends the one that was not used for longest.
const (
	maxLinks       = 16
	maxPages       = 16
	maxConnections = 64
	maxHeader      = 16 << 10
	headerTimeout  = 5 * time.Second
	linkTime       = time.Minute
	idleTime       = 30 * time.Minute // until a page ends that is not used
)

// Options are what a console needs of its daemon.
type Options struct {
	// Serve answers a request of the API.
	Serve func(http.ResponseWriter, *http.Request, control.Person)
	// Record puts on record who came in.
	Record func(audit.Record, error)
	Log    hclog.Logger
}

// Console lets browsers in. It listens while there are links or pages.
type Console struct {
	options        Options
	linkTime, idle time.Duration

	mu    sync.Mutex
	door  *door // nil: it does not listen
	links map[[sha256.Size]byte]*link
	pages map[string]*page // by the secrets of their paths
	ended bool
	wrong int       // links that did not count, since they were on record
	told  time.Time // when that was
}

var _ control.Console = (*Console)(nil)

// link is one that was not used yet. It is known by its digest.
type link struct {
	by         control.Person
	ownBrowser bool
	made       time.Time
}

// page is a browser that is in.
type page struct {
	path   string
	cookie [sha256.Size]byte // its digest
	by     control.Person
	life   context.Context //nolint:containedctx // of the page
	end    context.CancelFunc
	// Guarded by the console's mu:
	busy int // requests in progress
	used time.Time
}

// door is the listener, on a port of its own.
type door struct {
	console *Console
	address string
	http    http.Server
}

// New returns a console that does not listen yet.
func New(o Options) *Console {
	return &Console{
		options: o, linkTime: linkTime, idle: idleTime,
		links: map[[sha256.Size]byte]*link{}, pages: map[string]*page{},
	}
}

// secret returns 256 random bits.
func secret() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // which cannot fail
	return base64.RawURLEncoding.EncodeToString(b)
}

func digest(s string) [sha256.Size]byte { return sha256.Sum256([]byte(s)) }

// Link implements [control.Console].
//
// # Errors
//
// [tool.CodeUnavailable] if the daemon ends, or no port can be opened.
func (c *Console) Link(by control.Person, ownBrowser bool) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.listen(); err != nil {
		return "", tool.Errorf(tool.CodeUnavailable, "the console cannot be opened: %w", err)
	}
	c.sweep()
	for len(c.links) >= maxLinks {
		delete(c.links, longest(c.links, func(l *link) time.Time { return l.made }))
	}
	word := secret()
	c.links[digest(word)] = &link{by, ownBrowser, time.Now()}
	// Behind a #, which browsers do not send.
	return "http://" + c.door.address + "/#" + word, nil
}

// longest returns the key of the value with the earliest time.
func longest[K comparable, V any](all map[K]V, since func(V) time.Time) (key K) {
	var first time.Time
	for k, v := range all {
		if at := since(v); first.IsZero() || at.Before(first) {
			key, first = k, at
		}
	}
	return key
}

// listen opens a port, if none is open. The lock is held.
func (c *Console) listen() error {
	if c.ended {
		return errors.New("the daemon is ending")
	}
	if c.door != nil {
		return nil
	}
	ln, err := net.Listen("tcp4", "127.0.0.1:0") //nolint:noctx // at once
	if err != nil {
		return err
	}
	d := &door{console: c, address: ln.Addr().String()}
	d.http = http.Server{
		Handler: d.handler(), ReadHeaderTimeout: headerTimeout, IdleTimeout: time.Minute, MaxHeaderBytes: maxHeader,
		ConnContext: crowd.Context, ErrorLog: c.options.Log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}
	c.door = d
	go func() { _ = d.http.Serve(crowd.New(ln, maxConnections)) }()
	go d.keep()
	return nil
}

// keep ends what is over, and then the door.
func (d *door) keep() {
	c := d.console
	tick := time.NewTicker(c.idle / 30)
	defer tick.Stop()
	for range tick.C {
		c.mu.Lock()
		c.sweep()
		if over := len(c.links)+len(c.pages) == 0 && c.wrong == 0; over || c.door != d {
			c.shut(d)
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
	}
}

// shut closes a door. The lock is held.
func (c *Console) shut(d *door) {
	if c.door == d {
		c.door = nil
	}
	_ = d.http.Close()
}

// sweep ends links and pages whose time is over, and puts on record which links did not count. The lock is held.
func (c *Console) sweep() {
	for key, l := range c.links {
		if time.Since(l.made) > c.linkTime {
			delete(c.links, key)
		}
	}
	for _, p := range c.pages {
		if p.busy == 0 && time.Since(p.used) > c.idle {
			c.endPage(p)
		}
	}
	if c.wrong > 0 && time.Since(c.told) > c.idle/30 {
		c.options.Record(audit.Record{Action: "login", Object: "console", Via: "console", Refusals: c.wrong},
			tool.Errorf(tool.CodePermissionDenied, "the link is not one that counts"))
		c.wrong, c.told = 0, time.Now()
	}
}

func (c *Console) endPage(p *page) {
	delete(c.pages, p.path)
	p.end()
}

// EndPages implements [control.Console].
func (c *Console) EndPages() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.pages)
	clear(c.links)
	for _, p := range c.pages {
		c.endPage(p)
	}
	return n
}

// End ends everything, with the daemon.
func (c *Console) End() {
	c.EndPages()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.door != nil {
		c.shut(c.door)
	}
}

var errLink = errors.New("the link is not known, was used, or is over: toolhost console makes another")

// exchange makes a page of a link, which is gone then, and returns the page's path and cookie.
func (c *Console) exchange(word string, from, to net.Addr) (path, cookie string, err error) {
	l := c.take(digest(word))
	if l == nil {
		return "", "", errLink
	}
	if l.ownBrowser {
		err = checkUser(from, to, l.by.UID)
	}
	c.options.Record(audit.Record{Action: "login", Object: "console", Via: "console", UID: &l.by.UID, Message: l.by.Text}, err)
	if err != nil {
		return "", "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.pages) >= maxPages {
		c.endPage(c.pages[longest(c.pages, func(p *page) time.Time { return p.used })])
	}
	path, cookie = secret(), secret()
	p := &page{path: path, cookie: digest(cookie), by: l.by, used: time.Now()}
	p.life, p.end = context.WithCancel(context.Background())
	c.pages[path] = p
	return path, cookie, nil
}

// take returns a link, and forgets it; nil: there is none.
func (c *Console) take(key [sha256.Size]byte) *link {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweep()
	l := c.links[key]
	if delete(c.links, key); l == nil {
		c.wrong++
	}
	return l
}

// enter returns the page of a request; nil: there is none. Done ends the request.
func (c *Console) enter(path string, cookies []*http.Cookie) (p *page, done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p = c.pages[path]
	for _, one := range cookies {
		if p != nil && digest(one.Value) == p.cookie {
			p.busy++
			return p, func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				p.busy--
				p.used = time.Now()
			}
		}
	}
	return nil, nil
}

// checkUser refuses a connection that is not of a user's process: another may have read the link among the
// arguments of the browser.
func checkUser(from, to net.Addr, uid int) error {
	found, known, err := userOf(from, to)
	switch {
	case err != nil:
		return fmt.Errorf("the system does not say whose browser this is (toolhost console --no-open lets any in that has the link): %w", err)
	case known && found != uid:
		return fmt.Errorf("a process of user %d has used a link that was for user %d's browser: toolhost console makes another", found, uid)
	}
	return nil
}
