package control

import (
	"context"
	"net/http"
	"net/url"
)

// Waiting is a file inside the root that the daemon goes by, with other content than is in effect.
type Waiting struct {
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
	// Difference are the lines that differ from what is in effect, for people.
	Difference []string `json:"difference"`
}

// Waiting returns the files whose content waits for the operator's word.
func (c *Client) Waiting(ctx context.Context) (all []Waiting, err error) {
	return all, c.explain(c.get(ctx, "/v1/waiting", &all))
}

// Reload makes the daemon read its files again. What waits is applied if its digest is accepted;
// if any is not, nothing is.
func (c *Client) Reload(ctx context.Context, accept ...string) error {
	return c.explain(c.ask(ctx, http.MethodPost, "/v1/reload?"+url.Values{"accept": accept}.Encode(), nil, nil))
}

// Refresh makes the daemon try again what it refused before. What waits goes on waiting.
func (c *Client) Refresh(ctx context.Context) error {
	return c.explain(c.ask(ctx, http.MethodPost, "/v1/refresh", nil, nil))
}
