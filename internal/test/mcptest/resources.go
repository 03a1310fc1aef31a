package mcptest

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// watchedURI is the resource to which clients subscribe.
const watchedURI = "test://watched-resource"

const templateStart, templateEnd = "test://template/", "/data"

func addResources(s *mcp.Server) {
	add := func(name, mime string, content mcp.ResourceContents) {
		uri := "test://" + name
		s.AddResource(&mcp.Resource{Name: name, Description: "A resource to read.", MIMEType: mime, URI: uri},
			func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				c := content
				c.URI, c.MIMEType = uri, mime
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{&c}}, nil
			})
	}
	add("static-text", plainText, mcp.ResourceContents{Text: "This is the content of the static text resource."})
	add("static-binary", pngImage, mcp.ResourceContents{Blob: pixel})
	add(strings.TrimPrefix(watchedURI, "test://"), plainText, mcp.ResourceContents{Text: "Watched resource content"})
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "template", Description: "A resource for each ID.", MIMEType: "application/json",
		URITemplate: templateStart + "{id}" + templateEnd,
	}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		uri := req.Params.URI
		id := strings.TrimSuffix(strings.TrimPrefix(uri, templateStart), templateEnd)
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
			URI: uri, MIMEType: "application/json",
			Text: fmt.Sprintf(`{"id": %q, "templateTest": true, "data": "Data for ID: %s"}`, id, id),
		}}}, nil
	})
}
