package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Plugin serves the tools that need nothing of MCP as a plugin.
func Plugin() {
	var set tool.Set
	var changes atomic.Int64
	pluginsdk.Plugin{Set: &set, Tools: append(append(contentTools(), taskTools()...),
		handled("test_tool_with_logging", "Logs three lines.", "", logLines),
		handled("test_tool_with_progress", "Reports its progress three times.", "", progress),
		handled("test_error_handling", "Fails.", "", func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Failure("This tool intentionally returns an error for testing"), nil
		}),
		handled("json_schema_2020_12_tool", "Takes what its schema describes.", schema2020, echo),
		handled("test_x_mcp_header", "Has an argument that clients repeat in a header.", headerSchema, echo),
		said("test_streaming_elicitation", "Answers and asks nothing.", "nothing was asked"),
		said("test_reconnection", "Answers, whatever becomes of the stream meanwhile.", "Reconnection test completed successfully"),
		handled("test_logging_tool", "Logs a line.", "", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			tool.Log(ctx, slog.LevelInfo, "test_logging_tool executed")
			return tool.Text("logged"), nil
		}),
		handled("test_trigger_tool_change", "Adds a tool.", "", func(context.Context, tool.Call) (tool.Result, error) {
			about := fmt.Sprintf("Was added by call %d of test_trigger_tool_change.", changes.Add(1))
			return tool.Text("changed"), set.Put(said("test_transient", about, "here"))
		}),
		asks("test_elicitation", userForm),
		asks("test_elicitation_sep1034_defaults", defaultsForm),
		asks("test_elicitation_sep1330_enums", enumsForm),
		handled("test_input_required_result_request_state", "Asks for a confirmation.", "", confirm),
		handled("test_input_required_result_tampered_state", "Asks for a confirmation.", "", confirm),
		handled("test_input_required_result_multi_round", "Asks for a name, then for a color.", "", twice),
	)}.Main()
}

// contentTools return each kind of content.
func contentTools() []tool.Tool {
	resource := func(uri string) tool.ResourceContent {
		return tool.ResourceContent{URI: uri, MIMEType: plainText, Text: embeddedText}
	}
	image := tool.ImageContent{Data: pixel, MIMEType: pngImage}
	return []tool.Tool{
		said("test_simple_text", "Returns text.", "This is a simple text response for testing."),
		returns("test_image_content", "Returns an image.", image),
		returns("test_audio_content", "Returns a sound.", tool.AudioContent{Data: sound, MIMEType: wavAudio}),
		returns("test_embedded_resource", "Returns a resource.", resource("test://embedded-resource")),
		returns("test_multiple_content_types", "Returns text, an image and a resource.",
			tool.TextContent{Text: "Multiple content types test:"}, image, resource("test://mixed-content-resource")),
	}
}

func handled(name, description, schema string, h tool.Handler) tool.Tool {
	d := tool.Definition{Name: name, Description: description, Safety: tool.Safe}
	if schema != "" {
		d.InputSchema = tool.Schema(schema)
	}
	return tool.Tool{Definition: d, Handler: h}
}

func returns(name, description string, content ...tool.Content) tool.Tool {
	return handled(name, description, "", func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{Content: content}, nil
	})
}

func said(name, description, text string) tool.Tool {
	return returns(name, description, tool.TextContent{Text: text})
}

func echo(_ context.Context, call tool.Call) (tool.Result, error) {
	return tool.Text(string(call.Arguments)), nil
}

func logLines(ctx context.Context, _ tool.Call) (tool.Result, error) {
	for _, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		tool.Log(ctx, slog.LevelInfo, line)
	}
	return tool.Text("Tool with logging executed successfully"), nil
}

func progress(ctx context.Context, _ tool.Call) (tool.Result, error) {
	for _, done := range []float64{0, 50, 100} {
		tool.Report(ctx, tool.Progress{Done: done, Total: 100, Message: fmt.Sprintf("Completed step %.0f of 100", done)})
		// The TypeScript SDK loses reports that arrive together with the result.
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return tool.Text("done"), nil
}

// asks is a tool that fills in a form, and says how.
func asks(name string, form json.RawMessage) tool.Tool {
	schema := `{"type":"object","properties":{"message":{"type":"string","description":"the message to show"}}}`
	return handled(name, "Asks the caller to fill in a form.", schema,
		func(ctx context.Context, call tool.Call) (tool.Result, error) {
			in := struct {
				Message string `json:"message"`
			}{Message: "Please fill in the form"}
			if err := json.Unmarshal(call.Arguments, &in); err != nil {
				return tool.Result{}, err
			}
			answer, err := tool.Ask(ctx, tool.Question{Message: in.Message, Schema: form})
			if err != nil {
				return tool.Result{}, err
			}
			return tool.Text(fmt.Sprintf("Elicitation result: action=%s, content=%s", answer.Action, answer.Content)), nil
		})
}

// fill asks for a form with one answer, which has to be given.
func fill(ctx context.Context, message string, form json.RawMessage, into any) error {
	answer, err := tool.Ask(ctx, tool.Question{Message: message, Schema: form})
	if err != nil {
		return err
	}
	if answer.Action != tool.Accept {
		return errors.New("not answered: " + string(answer.Action))
	}
	return json.Unmarshal(answer.Content, into)
}

func confirm(ctx context.Context, _ tool.Call) (tool.Result, error) {
	var in struct{ OK bool }
	if err := fill(ctx, "Please confirm", okForm, &in); err != nil {
		return tool.Result{}, err
	}
	return tool.Text("state-ok: the confirmation was received"), nil
}

func twice(ctx context.Context, _ tool.Call) (tool.Result, error) {
	var name struct{ Name string }
	var color struct{ Color string }
	if err := fill(ctx, "Step 1: What is your name?", nameForm, &name); err != nil {
		return tool.Result{}, err
	}
	if err := fill(ctx, "Step 2: What is your favorite color?", colorForm, &color); err != nil {
		return tool.Result{}, err
	}
	return tool.Text(name.Name + " likes " + color.Color), nil
}
