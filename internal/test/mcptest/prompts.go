package mcptest

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func addPrompts(s *mcp.Server) {
	required := func(names ...string) (out []*mcp.PromptArgument) {
		for _, n := range names {
			out = append(out, &mcp.PromptArgument{Name: n, Description: "An argument.", Required: true})
		}
		return out
	}
	s.AddPrompt(&mcp.Prompt{
		Name: "test_simple_prompt", Title: "Simple Test Prompt", Description: "A prompt without arguments.",
	}, simplePrompt)
	s.AddPrompt(&mcp.Prompt{
		Name: "test_prompt_with_arguments", Description: "A prompt with arguments.", Arguments: required("arg1", "arg2"),
	}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		args := req.Params.Arguments
		return prompt(&mcp.TextContent{
			Text: fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", args["arg1"], args["arg2"]),
		}), nil
	})
	s.AddPrompt(&mcp.Prompt{
		Name: "test_prompt_with_embedded_resource", Description: "A prompt with a resource.",
		Arguments: required("resourceUri"),
	}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return prompt(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
			URI: req.Params.Arguments["resourceUri"], MIMEType: plainText, Text: "Embedded resource content for testing.",
		}}, &mcp.TextContent{Text: "Please process the embedded resource above."}), nil
	})
	s.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_image", Description: "A prompt with an image."},
		func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return prompt(&mcp.ImageContent{Data: pixel, MIMEType: pngImage},
				&mcp.TextContent{Text: "Please analyze the image above."}), nil
		})
	s.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt", Description: "A prompt that asks for its context."},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			if in := accepted(req.Params.InputResponses, "user_context"); in != nil {
				return prompt(&mcp.TextContent{Text: fmt.Sprintf("Context: %v", in["context"])}), nil
			}
			return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{
				"user_context": &mcp.ElicitParams{Message: "Please provide context for the prompt", RequestedSchema: contextForm},
			}}, nil
		})
}

func simplePrompt(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	return prompt(&mcp.TextContent{Text: "This is a simple prompt for testing."}), nil
}

func prompt(content ...mcp.Content) *mcp.GetPromptResult {
	res := &mcp.GetPromptResult{Description: "A prompt for tests."}
	for _, c := range content {
		res.Messages = append(res.Messages, &mcp.PromptMessage{Role: "user", Content: c})
	}
	return res
}
