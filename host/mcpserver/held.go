package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// smallResult is the size of results that are not counted, in bytes.
const smallResult = 64 << 10

// sized is a result that may be large.
type sized interface{ size() int }

func (r *toolResult) size() int {
	n := len(r.Structured)
	for _, b := range r.Content {
		n += len(b.Data)
		texts := []*string{b.Text}
		if b.Resource != nil {
			texts = append(texts, b.Resource.Text)
			if b.Resource.Blob != nil {
				n += len(*b.Resource.Blob)
			}
		}
		for _, text := range texts {
			if text != nil {
				n += len(*text)
			}
		}
	}
	return n
}

func (r *passedResult) size() int {
	n := len(r.passedMeta)
	for _, m := range r.members {
		n += len(m.Value)
	}
	return n
}

func (r *taskResult) size() int {
	if inner, ok := r.Result.(sized); ok {
		return inner.size()
	}
	return 0
}

// hold holds a result until it is written to the client, on HTTP until its request is over, or loses it: what
// was done is done, and on record.
func (c *clientSession) hold(ctx context.Context, extra *mcp.RequestExtra, res mcp.Result) (mcp.Result, error) {
	large, ok := res.(sized)
	if !ok || c.server.opts.Hold == nil || large.size() <= smallResult {
		return res, nil
	}
	release, err := c.server.opts.Hold(c.session.Caller().Name, large.size())
	if err == nil {
		if onHTTP(extra) {
			ctx = c.server.posts.of(extra)
		}
		context.AfterFunc(ctx, release)
		return res, nil
	}
	why := tool.Errorf(tool.CodeResourceExhausted, "the answer is lost: %w", err)
	switch r := res.(type) {
	case *toolResult:
		return r.lost(why), nil
	case *metaResult:
		return r.lost(why), nil
	}
	return nil, refused("%v", why)
}

// lost makes a result an error.
func (r *toolResult) lost(why *tool.Error) mcp.Result {
	r.IsError, r.Structured = true, nil
	r.Content = []contentBlock{textBlock("the tool ran, and " + why.Error() + " [" + string(why.Code) + "]")}
	r.Meta = mcp.Meta{errorKey: errorMeta{Code: why.Code}}
	return r
}
