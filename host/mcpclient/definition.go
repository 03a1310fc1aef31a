package mcpclient

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/mcpjson"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// rawTool is a tool as a server describes it. Each member is decoded by itself, so that a
// wrong one costs no more than itself.
type rawTool struct {
	Name         string          `json:"name"`
	Title        json.RawMessage `json:"title"`
	Description  json.RawMessage `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  json.RawMessage `json:"annotations"`
	Icons        json.RawMessage `json:"icons"`
	Meta         json.RawMessage `json:"_meta"`
}

// listingBuilder makes definitions of what a server lists.
type listingBuilder struct {
	l      *link
	out    listing
	seen   map[string]bool // the server's names
	digest hash.Hash
	count  int
	names  []string // all of the server's, chosen or not
}

func newListingBuilder(l *link) *listingBuilder {
	return &listingBuilder{
		l: l, out: listing{theirs: map[string]string{}}, seen: map[string]bool{}, digest: sha256.New(),
	}
}

func (b *listingBuilder) done() *listing {
	b.l.u.compare(b.names)
	b.out.digest = hex.EncodeToString(b.digest.Sum(nil))
	return &b.out
}

// add adds a page.
func (b *listingBuilder) add(page []json.RawMessage) error {
	for _, raw := range page {
		if b.count++; b.count > maxTools {
			return fmt.Errorf("it has more than %d tools", maxTools)
		}
		_, _ = b.digest.Write(raw)
		if err := b.tool(raw); err != nil {
			b.l.fault(err)
		}
	}
	return nil
}

func (b *listingBuilder) tool(raw json.RawMessage) error {
	var t rawTool
	if err := json.Unmarshal(raw, &t); err != nil {
		return fmt.Errorf("tool %d of its list cannot be read: %w", b.count, err)
	}
	b.names = append(b.names, t.Name)
	switch {
	case t.Name == "":
		return fmt.Errorf("tool %d of its list has no name", b.count)
	case !b.l.u.chosen(t.Name):
		return nil
	case b.seen[t.Name]:
		return fmt.Errorf("it lists the tool %.128q twice; the first counts", t.Name)
	}
	b.seen[t.Name] = true
	d := b.l.u.definition(t)
	if b.l.u.IsOwn(d.Name) {
		return fmt.Errorf("its tool %.128q is refused: %s is a tool of the host's own", t.Name, d.Name)
	}
	b.shown(&d, t)
	if other, taken := b.out.theirs[d.Name]; taken {
		return fmt.Errorf("its tools %.128q and %.128q both have the name %s here; the first counts", other, t.Name, d.Name)
	}
	b.out.theirs[d.Name] = t.Name
	b.out.tools = append(b.out.tools, d)
	return nil
}

// shown adds to a definition what only clients see of it. It costs the tool nothing if it is wrong.
func (b *listingBuilder) shown(d *tool.Definition, t rawTool) {
	add := func(what string, to *json.RawMessage, value json.RawMessage) {
		right := d.Check() == nil
		*to = value
		if err := d.Check(); right && err != nil {
			b.l.fault(fmt.Errorf("the %s of its tool %.128q cannot be shown: %w", what, t.Name, err))
			*to = nil
		}
	}
	add("icons", &d.Icons, mcpjson.Present(t.Icons))
	meta := mcpjson.Unreserved(t.Meta)
	if r, hidden := mcpjson.Hidden(meta); hidden {
		b.l.fault(fmt.Errorf("the _meta of its tool %.128q is left out, as it has a hidden character, %U", t.Name, r))
		meta = nil
	}
	add("_meta", &d.Meta, meta)
	// Nothing here believes what a server claims of its tools. But whoever gave a tool its level may have, so that
	// another claim is another definition.
	said := t.annotations()
	if claims, err := json.Marshal(said); err == nil && said != (mcp.ToolAnnotations{}) {
		d.Meta = mcpjson.EncodeObject(append(mcpjson.ObjectOf(d.Meta), mcpjson.Member{Key: claimsKey, Value: claims}))
	}
}

// claimsKey is the member of a definition's "_meta" that has the server's annotations. No client is shown it.
const claimsKey = "toolhost/annotations"

// definition converts what a server says of a tool. What the registry does not take is refused
// there, with the reason.
func (u *Upstream) definition(t rawTool) tool.Definition {
	annotations := t.annotations()
	d := tool.Definition{
		Name:         mcpjson.Name(u.config.Name + "." + t.Name),
		Title:        cmp.Or(text(t.Title), annotations.Title),
		Description:  text(t.Description),
		InputSchema:  mcpjson.Present(t.InputSchema),
		OutputSchema: mcpjson.Present(t.OutputSchema),
	}
	if strings.TrimSpace(d.Description) == "" {
		d.Description = fmt.Sprintf("The tool %s of the MCP server %s, which does not describe it.",
			strings.TrimPrefix(d.Name, u.config.Name+"."), u.config.Name)
	}
	if u.config.Safety != nil {
		d.Safety = u.config.Safety(t.Name)
		d.Idempotent = d.Safety != tool.Unset && (annotations.IdempotentHint || annotations.ReadOnlyHint)
	}
	return d
}

// annotations returns what the server claims of the tool.
func (t rawTool) annotations() (a mcp.ToolAnnotations) {
	_ = json.Unmarshal(t.Annotations, &a) // a wrong one claims nothing
	return a
}

// text returns a string of a server, with the newlines that a definition has; empty: it is
// not one.
func text(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return strings.ReplaceAll(s, "\r\n", "\n")
}
