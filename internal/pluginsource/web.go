package pluginsource

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// web is a package in a file of a web server. The file is fetched, as its index is in it.
type web struct {
	file
	client  *http.Client
	url     *url.URL
	options Options
	fetched []string // names of files
}

func newWeb(ref Ref, o Options) (*web, error) {
	u, err := url.Parse(ref.Place)
	if err != nil {
		return nil, err
	}
	return &web{client: newClient(u), url: u, options: o}, nil
}

func (w *web) find(ctx context.Context, v Version) (*Found, error) {
	return w.fetch(ctx, w.url, v.size)
}

// fetch fetches a package file and opens it.
func (w *web) fetch(ctx context.Context, u *url.URL, size int64) (*Found, error) {
	if w.options.Dir == nil {
		return nil, errors.New("there is no directory to fetch it to")
	}
	name := "file-" + rand.Text() + Part
	d := &download{client: w.client, url: u, size: size}
	if err := d.save(ctx, w.options.Dir, name, w.options.progress(u.Host)); err != nil {
		return nil, err
	}
	w.fetched = append(w.fetched, name)
	found, err := w.at(filepath.Join(w.options.Path, name))
	if err != nil {
		err = errors.New(strings.ReplaceAll(err.Error(), filepath.Join(w.options.Path, name), "what was fetched"))
	}
	return found, err
}

func (w *web) close() error {
	w.client.CloseIdleConnections()
	err := w.file.close()
	for _, name := range w.fetched {
		if bad := w.options.Dir.Remove(name); !errors.Is(bad, fs.ErrNotExist) {
			err = errors.Join(err, bad)
		}
	}
	return err
}

// webIndex is an index on a web server.
type webIndex struct {
	web
	shelved
}

func newWebIndex(ctx context.Context, ref Ref, o Options) (*webIndex, error) {
	one, err := newWeb(ref, o)
	if err != nil {
		return nil, err
	}
	w := &webIndex{web: *one}
	x, err := w.index(ctx)
	if err == nil {
		w.shelved, err = x.of(ref.Plugin)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", sanitize.Line(ref.Place, 300), err)
	}
	return w, nil
}

func (w *webIndex) index(ctx context.Context) (Index, error) {
	d := &download{client: w.client, url: w.url}
	var text []byte
	err := again(ctx, func() error {
		body, err := d.open(ctx, 0)
		if err != nil {
			return err
		}
		text, err = io.ReadAll(io.LimitReader(body, maxIndex+1))
		return errors.Join(err, body.Close())
	})
	switch {
	case err != nil:
		return Index{}, err
	case len(text) > maxIndex:
		return Index{}, fmt.Errorf("the server sends more than %d bytes", maxIndex)
	}
	return ParseIndex(text)
}

func (w *webIndex) find(ctx context.Context, v Version) (*Found, error) {
	return w.fetch(ctx, w.url.ResolveReference(&url.URL{Path: "./" + v.file}), v.size)
}
