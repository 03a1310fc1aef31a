package wire

// The reference for the hand-written codec: the same conversions with the generated
// messages.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// responseToProto returns what [newAnswer] and [answer.appendTo] send.
func responseToProto(res *tool.Result, err error) *pluginv1.ExecuteResponse {
	if err != nil {
		return &pluginv1.ExecuteResponse{Outcome: &pluginv1.ExecuteResponse_Error{Error: errorToProto(err)}}
	}
	return &pluginv1.ExecuteResponse{Outcome: &pluginv1.ExecuteResponse_Result{Result: resultToProto(*res)}}
}

// responseFromProto returns what [parseResponse] reads.
func responseFromProto(p *pluginv1.ExecuteResponse) (tool.Result, error) {
	switch o := p.GetOutcome().(type) {
	case *pluginv1.ExecuteResponse_Result:
		return resultFromProto(o.Result)
	case *pluginv1.ExecuteResponse_Error:
		return tool.Result{}, claimed(tool.Code(o.Error.GetCode()), o.Error.GetMessage(), o.Error.GetHint(), boundedRetry(o.Error.GetRetryAfterMs()))
	}
	return tool.Result{}, &tool.Error{Code: tool.CodeInvalidResult, Message: "neither"}
}

func errorToProto(err error) *pluginv1.Error {
	e := tool.AsError(err)
	msg := err.Error()
	if e.Hint != "" {
		msg = strings.TrimSuffix(msg, " ("+e.Hint+")")
	}
	return &pluginv1.Error{Code: clean(string(e.Code)), Message: clean(msg), Hint: clean(e.Hint)}
}

func resultToProto(r tool.Result) *pluginv1.Result {
	out := &pluginv1.Result{StructuredJson: r.Structured, IsError: r.IsError, MetaJson: r.Meta}
	for _, c := range r.Content {
		block := contentToProto(c)
		block.ExtraJson = []byte(extraOf(c))
		out.Content = append(out.Content, block)
	}
	return out
}

func contentToProto(c tool.Content) *pluginv1.Content {
	switch c := c.(type) {
	case tool.TextContent:
		return &pluginv1.Content{Block: &pluginv1.Content_Text{Text: &pluginv1.Text{Text: clean(c.Text)}}}
	case tool.ImageContent:
		return &pluginv1.Content{Block: &pluginv1.Content_Image{
			Image: &pluginv1.Media{Data: c.Data, MimeType: clean(c.MIMEType)},
		}}
	case tool.AudioContent:
		return &pluginv1.Content{Block: &pluginv1.Content_Audio{
			Audio: &pluginv1.Media{Data: c.Data, MimeType: clean(c.MIMEType)},
		}}
	case tool.ResourceContent:
		r := &pluginv1.Resource{Uri: clean(c.URI), MimeType: clean(c.MIMEType)}
		if c.Blob != nil {
			r.Body = &pluginv1.Resource_Blob{Blob: c.Blob}
		} else {
			r.Body = &pluginv1.Resource_Text{Text: clean(c.Text)}
		}
		return &pluginv1.Content{Block: &pluginv1.Content_Resource{Resource: r}}
	case tool.ResourceLink:
		return &pluginv1.Content{Block: &pluginv1.Content_ResourceLink{ResourceLink: &pluginv1.ResourceLink{
			Uri: clean(c.URI), Name: clean(c.Name), Description: clean(c.Description), MimeType: clean(c.MIMEType),
		}}}
	}
	return &pluginv1.Content{}
}

func resultFromProto(p *pluginv1.Result) (tool.Result, error) {
	out := tool.Result{Structured: p.GetStructuredJson(), IsError: p.GetIsError(), Meta: p.GetMetaJson()}
	if len(out.Structured) > 0 {
		if !json.Valid(out.Structured) {
			return tool.Result{}, invalidResult("the structured result is not JSON")
		}
		out.Structured = bytes.ToValidUTF8(out.Structured, []byte("\uFFFD"))
	}
	if n := len(p.GetContent()); n > maxBlocks {
		return tool.Result{}, invalidResult(fmt.Sprintf("%d content blocks, more than %d", n, maxBlocks))
	}
	for i, c := range p.GetContent() {
		block, err := contentFromProto(c)
		if err != nil {
			return tool.Result{}, invalidResult(fmt.Sprintf("content block %d: %v", i, err))
		}
		out.Content = append(out.Content, block)
	}
	if err := CheckResult(out); err != nil {
		return tool.Result{}, invalidResult(err.Error())
	}
	return out, nil
}

func contentFromProto(p *pluginv1.Content) (tool.Content, error) {
	extra := string(p.GetExtraJson())
	switch b := p.GetBlock().(type) {
	case *pluginv1.Content_Text:
		return tool.TextContent{Text: b.Text.GetText(), Extra: extra}, nil
	case *pluginv1.Content_Image:
		return tool.ImageContent{Data: b.Image.GetData(), MIMEType: b.Image.GetMimeType(), Extra: extra}, nil
	case *pluginv1.Content_Audio:
		return tool.AudioContent{Data: b.Audio.GetData(), MIMEType: b.Audio.GetMimeType(), Extra: extra}, nil
	case *pluginv1.Content_Resource:
		out := tool.ResourceContent{
			URI: b.Resource.GetUri(), MIMEType: b.Resource.GetMimeType(), Text: b.Resource.GetText(), Extra: extra,
		}
		if blob, ok := b.Resource.GetBody().(*pluginv1.Resource_Blob); ok {
			out.Blob = blob.Blob
			if out.Blob == nil { // protobuf does not distinguish an empty blob from none
				out.Blob = []byte{}
			}
		}
		return out, nil
	case *pluginv1.Content_ResourceLink:
		l := b.ResourceLink
		return tool.ResourceLink{URI: l.GetUri(), Name: l.GetName(), Description: l.GetDescription(),
			MIMEType: l.GetMimeType(), Extra: extra}, nil
	}
	return nil, errors.New("unknown kind")
}
