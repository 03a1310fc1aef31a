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
	if n := count(b, 5); n > MaxTools { // before each becomes a hundred times as large
		return tool.Errorf(tool.CodeInvalidDefinition, "the plugin has %d tools, more than %d", n, MaxTools)
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

const (
	// MaxTools bounds the tools of one plugin.
	MaxTools = 10_000
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
