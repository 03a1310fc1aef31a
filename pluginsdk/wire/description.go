package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// Description is what a plugin says of itself.
type Description struct {
	// Name and Version are the plugin's own words.
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// SDK is what the plugin was built with, such as "toolhost-go/0.1.0".
	SDK string `json:"sdk,omitempty"`
	// ConfigSchema describes [Config.JSON]; empty: no configuration.
	ConfigSchema tool.Schema `json:"config_schema,omitempty"`
	// Tools are the definitions, as claimed.
	Tools []tool.Definition `json:"tools"`
	// Features are optional abilities by name.
	Features []string `json:"features,omitempty"`
}

// Config is what the operator decided for a plugin.
type Config struct {
	// Root is the workspace, an absolute path; also the working directory.
	Root string
	// JSON is an object that fits the plugin's configuration schema; empty:
	// nothing was configured.
	JSON json.RawMessage
	// Protected are the files and directories that tools must not change, absolute,
	// with links resolved.
	Protected []string
}

// MarshalBinary is the description as it travels in the answer to Describe, to be
// kept in a file.
func (d Description) MarshalBinary() ([]byte, error) {
	return proto.Marshal(descriptionToProto(d))
}

// UnmarshalBinary reads what MarshalBinary wrote, with the checks that an answer to
// Describe has to pass.
//
// # Errors
//
// Plain ones for what is no such answer; [tool.CodeInvalidDefinition] where a
// definition cannot be read.
func (d *Description) UnmarshalBinary(b []byte) error {
	if err := bounded(b); err != nil {
		return err
	}
	var p pluginv1.DescribeResponse
	if err := proto.Unmarshal(b, &p); err != nil {
		return err
	}
	about, err := descriptionFromProto(&p)
	if err != nil {
		return err
	}
	*d = about
	return nil
}

// bounded refuses a description that has more of anything than it may, before each
// becomes a hundred times as large. What a tool may have is judged tool by tool, when it
// is read; here it is refused where it could not be read.
func bounded(b []byte) error {
	if n := count(b, fieldTools); n > maxTools {
		return tool.Errorf(tool.CodeInvalidDefinition, "the plugin has %d tools, more than %d", n, maxTools)
	}
	if n := count(b, fieldFeatures); n > maxFeatures {
		return tool.Errorf(tool.CodeInvalidDefinition, "the plugin has %d features, more than %d", n, maxFeatures)
	}
	names := 0
	for len(b) > 0 {
		num, kind, length := protowire.ConsumeField(b)
		if length < 0 {
			return nil // unreadable, which is for others to say
		}
		if num == fieldTools && kind == protowire.BytesType {
			_, _, head := protowire.ConsumeTag(b)
			text, _ := protowire.ConsumeBytes(b[head:])
			names += count(text, fieldCategories) + count(text, fieldSensitive)
		}
		b = b[length:]
	}
	if names > maxRepeated {
		return tool.Errorf(tool.CodeInvalidDefinition, "the plugin's tools have %d categories and sensitive names together, more than %d", names, maxRepeated)
	}
	return nil
}

// Fields of the messages in plugin.proto.
const (
	fieldTools      protowire.Number = 5 // of DescribeResponse
	fieldFeatures   protowire.Number = 6
	fieldCategories protowire.Number = 7 // of ToolDefinition
	fieldSensitive  protowire.Number = 13
)

const (
	// maxTools bounds the tools of one plugin.
	maxTools = 10_000
	// maxFeatures bounds its features, and maxRepeated what its tools' definitions repeat.
	maxFeatures = 1000
	maxRepeated = 100_000
	// maxDescription bounds an answer to Describe, in bytes.
	maxDescription = 16 << 20
)

// count is how often a field comes in a message, as far as that can be read.
func count(b []byte, field protowire.Number) (n int) {
	for len(b) > 0 {
		num, _, length := protowire.ConsumeField(b)
		if length < 0 {
			return n
		}
		if num == field {
			n++
		}
		b = b[length:]
	}
	return n
}

func cleanAll(in []string) []string {
	out := make([]string, 0, len(in))
	for _, s := range in {
		out = append(out, clean(s))
	}
	return out
}

func descriptionToProto(about Description) *pluginv1.DescribeResponse {
	out := &pluginv1.DescribeResponse{
		Name: clean(about.Name), Version: clean(about.Version), Sdk: clean(about.SDK),
		ConfigSchemaJson: about.ConfigSchema, Features: cleanAll(about.Features),
	}
	for _, d := range about.Tools {
		out.Tools = append(out.Tools, definitionToProto(d))
	}
	return out
}

func descriptionFromProto(p *pluginv1.DescribeResponse) (Description, error) {
	out := Description{
		Name: p.GetName(), Version: p.GetVersion(), SDK: p.GetSdk(),
		ConfigSchema: p.GetConfigSchemaJson(), Features: p.GetFeatures(),
		Tools: make([]tool.Definition, 0, len(p.GetTools())),
	}
	for _, t := range p.GetTools() {
		d, err := definitionFromProto(t)
		if err != nil {
			return Description{}, err
		}
		out.Tools = append(out.Tools, d)
	}
	return out, nil
}

func definitionToProto(d tool.Definition) *pluginv1.ToolDefinition {
	out := &pluginv1.ToolDefinition{
		Name: clean(d.Name), Title: clean(d.Title), Description: clean(d.Description),
		InputSchemaJson: d.InputSchema, OutputSchemaJson: d.OutputSchema,
		Safety: d.Safety.String(), Categories: cleanAll(d.Categories), Permission: clean(string(d.Permission)),
		Idempotent: d.Idempotent, MaxRetries: saturate(d.MaxRetries),
		TimeoutMs: toMilliseconds(d.Timeout), Sensitive: cleanAll(d.Sensitive),
	}
	if d.RateLimit != nil {
		out.RateLimit = &pluginv1.RateLimit{Calls: saturate(d.RateLimit.Calls), PeriodMs: toMilliseconds(d.RateLimit.Period)}
	}
	return out
}

func saturate(n int) int32 {
	return int32(min(max(n, math.MinInt32), math.MaxInt32)) //nolint:gosec // bounded here
}

// toMilliseconds rounds up: 0 would mean something else.
func toMilliseconds(d tool.Duration) int64 {
	ms := time.Duration(d).Milliseconds()
	if time.Duration(d)%time.Millisecond > 0 {
		ms++
	}
	return ms
}

func definitionFromProto(p *pluginv1.ToolDefinition) (tool.Definition, error) {
	safety, err := tool.ParseSafety(p.GetSafety())
	if err != nil {
		e := tool.AsError(err)
		e.Tool, e.Message = p.GetName(), fmt.Sprintf("tool %.128q: %s", p.GetName(), e.Message)
		return tool.Definition{}, e
	}
	out := tool.Definition{
		Name: p.GetName(), Title: p.GetTitle(), Description: p.GetDescription(),
		InputSchema: p.GetInputSchemaJson(), OutputSchema: p.GetOutputSchemaJson(),
		Safety: safety, Categories: p.GetCategories(), Permission: tool.Capability(p.GetPermission()),
		Idempotent: p.GetIdempotent(), MaxRetries: int(p.GetMaxRetries()),
		Timeout: fromMilliseconds(p.GetTimeoutMs()), Sensitive: p.GetSensitive(),
	}
	if r := p.GetRateLimit(); r != nil {
		out.RateLimit = &tool.RateLimit{Calls: int(r.GetCalls()), Period: fromMilliseconds(r.GetPeriodMs())}
	}
	return out, nil
}

// fromMilliseconds saturates where a duration would overflow.
func fromMilliseconds(ms int64) tool.Duration {
	const most = math.MaxInt64 / int64(time.Millisecond)
	return tool.Duration(time.Duration(min(max(ms, -most), most)) * time.Millisecond)
}
