package pluginsource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// download is a file of a web server that is fetched.
type download struct {
	client *http.Client
	url    *url.URL
	size   int64  // 0: not known yet
	tag    string // what the server calls this version of the file; empty: it does not say
}

// errChanged reports that the file is another than the one of which a part was fetched.
var errChanged = &refusedError{"the file changed while it was fetched: try again"}

// open asks for the file from an offset on.
func (d *download) open(ctx context.Context, offset int64) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", userAgent)
	if offset > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
		if d.tag != "" {
			req.Header.Set("If-Range", d.tag)
		}
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return nil, err
	}
	if err := d.check(resp, offset); err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return skip(resp.Body, nil, offset)
	}
	return resp.Body, nil
}

// check compares an answer with what is known of the file.
func (d *download) check(resp *http.Response, offset int64) error {
	var size int64
	switch resp.StatusCode {
	case http.StatusOK:
		size = resp.ContentLength
	case http.StatusPartialContent:
		from, whole, ok := contentRange(resp.Header.Get("Content-Range"))
		if !ok || from != offset {
			return &refusedError{"the server answers with another part of the file than it was asked for"}
		}
		size = whole
	case http.StatusRequestedRangeNotSatisfiable:
		return errChanged
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return errors.New("the server answers " + resp.Status)
	default:
		return &refusedError{fmt.Sprintf("the server answers %s for %s", sanitize.Line(resp.Status, 100), sanitize.Line(resp.Request.URL.Redacted(), 300))}
	}
	tag := resp.Header.Get("Etag")
	if strings.HasPrefix(tag, "W/") {
		tag = ""
	}
	switch {
	case d.tag != "" && tag != d.tag:
		return errChanged
	case d.size > 0 && size >= 0 && size != d.size:
		return &refusedError{fmt.Sprintf("the file has %d bytes, expected %d", size, d.size)}
	case size > maxTar:
		return &refusedError{fmt.Sprintf("the file has %d bytes, more than a package may have", size)}
	}
	if d.tag = tag; size > 0 {
		d.size = size
	}
	return nil
}

// contentRange reads a header such as bytes 10-99/100. Whole is -1 if it is not said.
func contentRange(text string) (from, whole int64, ok bool) {
	text, ok = strings.CutPrefix(text, "bytes ")
	span, size, both := strings.Cut(text, "/")
	first, _, also := strings.Cut(span, "-")
	from, err := strconv.ParseInt(first, 10, 64)
	if !ok || !both || !also || err != nil {
		return 0, 0, false
	}
	if whole, err = strconv.ParseInt(size, 10, 64); err != nil {
		whole = -1
	}
	return from, whole, true
}

// save fetches the file into a new one of a directory. The digests in it are checked later.
func (d *download) save(ctx context.Context, dir *os.Root, name string, progress func(done, size int64)) error {
	return save(dir, name, func(f *os.File) error {
		var first io.ReadCloser
		err := again(ctx, func() (err error) {
			first, err = d.open(ctx, 0)
			return err
		})
		if err != nil {
			return err
		}
		body := &resuming{ctx: ctx, open: d.open, what: d.url.Host, size: d.size, body: first, progress: progress}
		if d.size == 0 { // it does not say
			body.size, body.endless = maxTar, true
		}
		defer func() { _ = body.Close() }()
		_, err = io.Copy(f, body)
		return err
	})
}
