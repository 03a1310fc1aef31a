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

// Description is what a plugin says about itself.
type Description struct {
	// Name and Version are as the plugin states them.
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// SDK is the SDK that the plugin was built with, such as "toolhost-go/0.1.0".
	SDK string `json:"sdk,omitempty"`
	// ConfigSchema describes [Config.JSON]; if empty, the plugin takes no configuration.
	ConfigSchema tool.Schema `json:"config_schema,omitempty"`
	// Tools are the definitions, as the plugin states them.
	Tools []tool.Definition `json:"tools"`
	// Features are the names of optional abilities, such as [FeatureStream].
	Features []string `json:"features,omitempty"`
	// Files are files besides the executable that decide what the description says:
	// absolute paths, or paths relative to the directory of the executable. A host that
	// remembers the description asks again if one of them has changed.
	Files []string `json:"files,omitempty"`
	// Needs is what the process needs of the system; nil: it does not say. What a plugin
	// sent is in the form of [need.Normal].
	Needs *tool.Needs `json:"needs,omitempty"`
}

// Config is the operator's configuration of a plugin.
type Config struct {
	// Root is the absolute path of the workspace, which is also the working directory.
	Root string
	// JSON is an object that fits the plugin's configuration schema, or empty if
	// nothing was configured.
	JSON json.RawMessage
	// Protected are the files and directories that tools must not change, as absolute
	// paths with links resolved.
	Protected []string
}

// MarshalBinary encodes the description as in the answer to Describe, so that it can
// be stored in a file.
func (d Description) MarshalBinary() ([]byte, error) {
	return proto.Marshal(descriptionToProto(d))
}

// UnmarshalBinary decodes what MarshalBinary wrote. It applies the checks that an
// answer to Describe has to pass.
//
// # Errors
//
// UnmarshalBinary returns [tool.CodeInvalidDefinition] if a definition or the needs cannot be
// read or the description exceeds a limit, and an error without a code if b cannot be
// decoded.
func (d *Description) UnmarshalBinary(b []byte) error {
	if err := checkBounds(b); err != nil {
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

// checkBounds rejects a description with too many tools, features or names before it
// is decoded, because decoding can make each a hundred times as large. The limits of a
// single tool are checked later, when its definition is used.
func checkBounds(b []byte) error {
	if n := countFields(b, fieldTools); n > maxTools {
		return tool.Errorf(tool.CodeInvalidDefinition, "the plugin has %d tools, more than %d", n, maxTools)
	}
	if n := countFields(b, fieldFeatures); n > maxFeatures {
		return tool.Errorf(tool.CodeInvalidDefinition, "the plugin has %d features, more than %d", n, maxFeatures)
	}
	if n := countFields(b, fieldFiles); n > maxFiles {
		return tool.Errorf(tool.CodeInvalidDefinition, "the plugin names %d files, more than %d", n, maxFiles)
	}
	if err := checkNeedsBounds(b); err != nil {
		return err
	}
	names := 0
	for text := range fieldsOf(b, fieldTools) {
		names += countFields(text, fieldCategories) + countFields(text, fieldSensitive)
	}
	if names > maxRepeated {
		return tool.Errorf(tool.CodeInvalidDefinition,
			"the plugin's tools have %d categories and sensitive names together, more than %d", names, maxRepeated)
	}
	return nil
}

// Fields of the messages in plugin.proto.
const (
	fieldTools      protowire.Number = 5 // of DescribeResponse
	fieldFeatures   protowire.Number = 6
	fieldFiles      protowire.Number = 7
	fieldCategories protowire.Number = 7 // of ToolDefinition
	fieldSensitive  protowire.Number = 13
)

const (
	// maxTools bounds the tools of one plugin.
	maxTools = 10_000
	// maxFeatures bounds the features of one plugin.
	maxFeatures = 1000
	// maxFiles bounds the files that a plugin names, which the host looks at.
	maxFiles = 256
	// maxRepeated bounds the categories and sensitive names of all its tools together.
	maxRepeated = 100_000
	// maxDescription bounds an answer to Describe, in bytes.
	maxDescription = 16 << 20
)

// countFields returns how often a field occurs in a message, up to the first byte that
// cannot be decoded.
func countFields(b []byte, field protowire.Number) (n int) {
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
		ConfigSchemaJson: about.ConfigSchema, Features: cleanAll(about.Features), Files: cleanAll(about.Files),
		Needs: needsToProto(about.Needs),
	}
	for _, d := range about.Tools {
		out.Tools = append(out.Tools, definitionToProto(d))
	}
	return out
}

func descriptionFromProto(p *pluginv1.DescribeResponse) (Description, error) {
	needs, err := needsFromProto(p.GetNeeds())
	if err != nil {
		return Description{}, err
	}
	out := Description{
		Name: p.GetName(), Version: p.GetVersion(), SDK: p.GetSdk(),
		ConfigSchema: p.GetConfigSchemaJson(), Features: p.GetFeatures(), Files: p.GetFiles(),
		Needs: needs, Tools: make([]tool.Definition, 0, len(p.GetTools())),
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
		IconsJson: d.Icons, MetaJson: d.Meta,
	}
	if d.RateLimit != nil {
		out.RateLimit = &pluginv1.RateLimit{Calls: saturate(d.RateLimit.Calls), PeriodMs: toMilliseconds(d.RateLimit.Period)}
	}
	return out
}

func saturate(n int) int32 {
	return int32(min(max(n, math.MinInt32), math.MaxInt32)) //nolint:gosec // bounded here
}

// toMilliseconds converts d to milliseconds and rounds up, because 0 has another meaning.
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
		Icons: p.GetIconsJson(), Meta: p.GetMetaJson(),
	}
	if r := p.GetRateLimit(); r != nil {
		out.RateLimit = &tool.RateLimit{Calls: int(r.GetCalls()), Period: fromMilliseconds(r.GetPeriodMs())}
	}
	return out, nil
}

// fromMilliseconds converts ms to a duration, saturating instead of overflowing.
func fromMilliseconds(ms int64) tool.Duration {
	const most = math.MaxInt64 / int64(time.Millisecond)
	return tool.Duration(time.Duration(min(max(ms, -most), most)) * time.Millisecond)
}
