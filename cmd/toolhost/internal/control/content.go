package control

import (
	"strings"

	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// sentResult returns a result as it is sent. It shares the memory of the result.
func sentResult(r tool.Result) *pluginv1.Result {
	out := &pluginv1.Result{StructuredJson: r.Structured, IsError: r.IsError, MetaJson: r.Meta}
	for _, c := range r.Content {
		block := &pluginv1.Content{}
		switch c := c.(type) {
		case tool.TextContent:
			block.Block, block.ExtraJson = &pluginv1.Content_Text{Text: &pluginv1.Text{Text: valid(c.Text)}}, []byte(c.Extra)
		case tool.ImageContent:
			m := &pluginv1.Media{Data: c.Data, MimeType: valid(c.MIMEType)}
			block.Block, block.ExtraJson = &pluginv1.Content_Image{Image: m}, []byte(c.Extra)
		case tool.AudioContent:
			m := &pluginv1.Media{Data: c.Data, MimeType: valid(c.MIMEType)}
			block.Block, block.ExtraJson = &pluginv1.Content_Audio{Audio: m}, []byte(c.Extra)
		case tool.ResourceContent:
			m := &pluginv1.Resource{Uri: valid(c.URI), MimeType: valid(c.MIMEType), Body: &pluginv1.Resource_Text{Text: valid(c.Text)}}
			if c.Blob != nil {
				m.Body = &pluginv1.Resource_Blob{Blob: c.Blob}
			}
			block.Block, block.ExtraJson = &pluginv1.Content_Resource{Resource: m}, []byte(c.Extra)
		case tool.ResourceLink:
			m := &pluginv1.ResourceLink{
				Uri: valid(c.URI), Name: valid(c.Name), Description: valid(c.Description), MimeType: valid(c.MIMEType),
			}
			block.Block, block.ExtraJson = &pluginv1.Content_ResourceLink{ResourceLink: m}, []byte(c.Extra)
		}
		out.Content = append(out.Content, block)
	}
	return out
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// receivedResult ignores blocks of a kind that is not known.
func receivedResult(r *pluginv1.Result) tool.Result {
	out := tool.Result{Structured: r.GetStructuredJson(), IsError: r.GetIsError(), Meta: r.GetMetaJson()}
	for _, block := range r.GetContent() {
		extra := string(block.GetExtraJson())
		switch b := block.GetBlock().(type) {
		case *pluginv1.Content_Text:
			out.Content = append(out.Content, tool.TextContent{Text: b.Text.GetText(), Extra: extra})
		case *pluginv1.Content_Image:
			out.Content = append(out.Content, tool.ImageContent{Data: b.Image.GetData(), MIMEType: b.Image.GetMimeType(), Extra: extra})
		case *pluginv1.Content_Audio:
			out.Content = append(out.Content, tool.AudioContent{Data: b.Audio.GetData(), MIMEType: b.Audio.GetMimeType(), Extra: extra})
		case *pluginv1.Content_Resource:
			c := tool.ResourceContent{URI: b.Resource.GetUri(), MIMEType: b.Resource.GetMimeType(), Text: b.Resource.GetText(), Extra: extra}
			if blob, ok := b.Resource.GetBody().(*pluginv1.Resource_Blob); ok {
				c.Blob = append([]byte{}, blob.Blob...) // not nil, even if it is empty
			}
			out.Content = append(out.Content, c)
		case *pluginv1.Content_ResourceLink:
			l := b.ResourceLink
			out.Content = append(out.Content, tool.ResourceLink{
				URI: l.GetUri(), Name: l.GetName(), Description: l.GetDescription(), MIMEType: l.GetMimeType(), Extra: extra,
			})
		}
	}
	return out
}
