package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/internal/errorcode"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// eachAnswer is a check of the answers of the calls that were made.
func eachAnswer(as Outcome, fault func(context.Context, *call) string) runner {
	return func(ctx context.Context, s *subject) finding {
		var f faults
		for _, c := range s.calls {
			if c.good {
				if why := fault(ctx, c); why != "" {
					f.add("%s: %s", c, why)
				}
			}
		}
		return f.finding(as)
	}
}

func contentFault(_ context.Context, c *call) string {
	for i, block := range c.out.GetResult().GetContent() {
		what := ""
		switch b := block.GetBlock().(type) {
		case nil:
			what = "is empty"
		case *pluginv1.Content_Image:
			what = mediaFault(b.Image)
		case *pluginv1.Content_Audio:
			what = mediaFault(b.Audio)
		case *pluginv1.Content_Resource:
			if b.Resource.GetUri() == "" {
				what = "is a resource without a URI"
			}
		case *pluginv1.Content_ResourceLink:
			if b.ResourceLink.GetUri() == "" || b.ResourceLink.GetName() == "" {
				what = "is a link without a URI or a name"
			}
		}
		if what != "" {
			return fmt.Sprintf("block %d %s", i+1, what)
		}
	}
	return ""
}

func mediaFault(m *pluginv1.Media) string {
	if len(m.GetData()) == 0 || !strings.Contains(m.GetMimeType(), "/") {
		return "has no data or no MIME type"
	}
	return ""
}

func outputFault(ctx context.Context, c *call) string {
	res := c.out.GetResult()
	if res == nil || res.GetIsError() || len(c.def.OutputSchema) == 0 {
		if text := res.GetStructuredJson(); len(text) > 0 && !json.Valid(text) {
			return "structured_json is not JSON"
		}
		return ""
	}
	if len(res.GetStructuredJson()) == 0 {
		return "there is no structured_json, which the output schema promises"
	}
	output, err := schema.CompileOutput(c.def.OutputSchema)
	if err != nil {
		return ""
	}
	return textOf(output.Check(ctx, res.GetStructuredJson()))
}

func errorFault(_ context.Context, c *call) string {
	e := c.out.GetError()
	switch {
	case e == nil:
		return ""
	case e.GetCode() != "" && errorcode.Of(tool.Code(e.GetCode())).From != errorcode.Plugin:
		return "the code " + sanitize.Quote(e.GetCode(), 40) + " is not one that a plugin may send"
	case strings.TrimSpace(e.GetMessage()) == "":
		return "the error has no message"
	}
	return ""
}
