package wire

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

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
	if n := count(b, fieldTools); n > MaxTools {
		return tool.Errorf(tool.CodeInvalidDefinition, "the plugin has %d tools, more than %d", n, MaxTools)
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
	// MaxTools bounds the tools of one plugin.
	MaxTools = 10_000
	// maxFeatures bounds its features, and maxRepeated what its tools' definitions repeat.
	maxFeatures = 1000
	maxRepeated = 100_000
	// maxDescription bounds an answer to Describe, in bytes.
	maxDescription = 16 << 20
)

// undecoded is a message that is not decoded yet.
type undecoded []byte

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
