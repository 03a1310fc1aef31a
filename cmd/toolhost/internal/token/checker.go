package token

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
)

// Why a token is refused. The texts name no token.
var (
	ErrUnknown = errors.New("the token is not known here, or was revoked")
	ErrExpired = errors.New("the token has expired")
)

// Checker checks tokens for a server that runs. It notices changes of the file by itself, so
// that a token counts, or does not, from the moment when it was made or revoked.
type Checker struct {
	store *Store
	now   func() time.Time

	mu   sync.Mutex
	seen fs.FileInfo // of the file that was read; nil: there was none
	read bool
	all  []Entry
	err  error // the file cannot be used
	day  string
	used map[string]bool // the tokens that were used on that day and are on record
	idle sync.WaitGroup
}

// NewChecker returns a checker of the tokens in a store.
func NewChecker(s *Store) *Checker { return &Checker{store: s, now: time.Now, used: map[string]bool{}} }

// Check returns the entry of a token.
//
// # Errors
//
// [ErrUnknown], [ErrExpired], and those of the file: no token counts if it cannot be read.
func (c *Checker) Check(token string) (Entry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refresh()
	if c.err != nil {
		return Entry{}, c.err
	}
	one, ok := find(c.all, token)
	switch now := c.now(); {
	case !ok:
		return Entry{}, ErrUnknown
	case one.Expired(now):
		return Entry{}, ErrExpired
	default:
		c.note(one, now.UTC().Format(time.DateOnly))
		return one, nil
	}
}

// Counts reports whether the token of an ID counts still.
func (c *Checker) Counts(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refresh()
	for _, e := range c.all {
		if e.ID == id {
			return c.err == nil && !e.Expired(c.now())
		}
	}
	return false
}

// Len returns how many tokens there are that have not expired.
func (c *Checker) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refresh()
	n := 0
	for _, e := range c.all {
		if !e.Expired(c.now()) {
			n++
		}
	}
	return n
}

// refresh reads the file if it is another one than that which was read. It is replaced with
// each change, never written in place.
func (c *Checker) refresh() {
	info, err := os.Stat(c.store.Path())
	if err != nil {
		info = nil
	}
	if c.read && c.err == nil && safefile.IsSame(c.seen, info) {
		return
	}
	c.all, c.err = c.store.List()
	c.seen, c.read = info, true
}

// note puts the day of a token's use on record, once a day, and without making its request wait.
func (c *Checker) note(one Entry, day string) {
	if c.day != day {
		c.day, c.used = day, map[string]bool{}
	}
	if one.Used == day || c.used[one.ID] {
		return
	}
	c.used[one.ID] = true
	c.idle.Go(func() { _ = c.store.use(day, map[string]bool{one.ID: true}) }) // what it is worth, a request need not fail for
}

// Close waits until what is on its way to the file is there.
func (c *Checker) Close() { c.idle.Wait() }
