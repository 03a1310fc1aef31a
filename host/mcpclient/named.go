package mcpclient

import (
	"encoding/json"
	"sync"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Bounds of the resources that are remembered as named. One that is forgotten counts as never listed.
const (
	maxNamed   = 10_000
	maxNameLen = 1 << 10 // bytes
)

// namedTo is a resource that a server named in an answer to a session.
type namedTo struct{ session, uri string }

// named are the resources that a server named, those named last. The zero value is none.
type named struct {
	mu   sync.Mutex
	all  map[namedTo]bool
	ring []namedTo // in the order in which they were named, from next on
	next int
}

func (n *named) has(session, uri string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all[namedTo{session, uri}]
}

func (n *named) add(session, uri string) {
	one := namedTo{session, uri}
	n.mu.Lock()
	defer n.mu.Unlock()
	if uri == "" || len(uri) > maxNameLen || n.all[one] {
		return
	}
	if n.all == nil {
		n.all = map[namedTo]bool{}
	}
	n.all[one] = true
	if len(n.ring) < maxNamed {
		n.ring = append(n.ring, one)
		return
	}
	delete(n.all, n.ring[n.next])
	n.ring[n.next], n.next = one, (n.next+1)%maxNamed
}

// addContent adds the links and resources of a tool's result.
func (n *named) addContent(session string, content []tool.Content) {
	for _, c := range content {
		switch c := c.(type) {
		case tool.ResourceLink:
			n.add(session, c.URI)
		case tool.ResourceContent:
			n.add(session, c.URI)
		}
	}
}

// addOwn adds what the result of resources/read or prompts/get names.
func (n *named) addOwn(session string, result json.RawMessage) {
	type resource struct {
		URI      string    `json:"uri"`
		Resource *struct { // of an embedded one
			URI string `json:"uri"`
		} `json:"resource"`
	}
	var out struct {
		Contents []resource `json:"contents"`
		Messages []struct {
			Content resource `json:"content"`
		} `json:"messages"`
	}
	_ = json.Unmarshal(result, &out) // the SDK has decoded it
	for _, m := range out.Messages {
		out.Contents = append(out.Contents, m.Content)
	}
	for _, r := range out.Contents {
		n.add(session, r.URI)
		if r.Resource != nil {
			n.add(session, r.Resource.URI)
		}
	}
}
