package wire

import (
	"iter"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/toolhost/toolhost/internal/grant"
	"github.com/toolhost/toolhost/internal/need"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

const fieldNeeds protowire.Number = 8 // of DescribeResponse

// checkNeedsBounds rejects needs with too many entries, or one that is too long, before they are
// decoded. A message may have them in several parts.
func checkNeedsBounds(b []byte) error {
	entries, fields := map[protowire.Number]int{}, (*pluginv1.Needs)(nil).ProtoReflect().Descriptor().Fields()
	for part := range fieldsOf(b, fieldNeeds) {
		for len(part) > 0 {
			num, kind, length := protowire.ConsumeField(part)
			if length < 0 {
				break // malformed; decoding reports the error
			}
			if field := fields.ByNumber(num); field != nil && field.IsList() && kind == protowire.BytesType {
				if entries[num]++; entries[num] > need.MaxEntries {
					return tool.Errorf(tool.CodeInvalidDefinition, "the declared needs have more than %d entries of %s", need.MaxEntries, field.Name())
				}
				if length > need.MaxLength+8 { // its tag and size
					return tool.Errorf(tool.CodeInvalidDefinition, "the declared needs have an entry of %s with more than %d bytes", field.Name(), need.MaxLength)
				}
			}
			part = part[length:]
		}
	}
	return nil
}

// fieldsOf returns the values of a field of bytes, up to the first byte that cannot be decoded.
func fieldsOf(b []byte, field protowire.Number) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(b) > 0 {
			num, kind, length := protowire.ConsumeField(b)
			if length < 0 {
				return
			}
			if num == field && kind == protowire.BytesType {
				_, _, head := protowire.ConsumeTag(b)
				if value, _ := protowire.ConsumeBytes(b[head:]); !yield(value) {
					return
				}
			}
			b = b[length:]
		}
	}
}

func needsToProto(n *tool.Needs) *pluginv1.Needs {
	if n == nil {
		return nil
	}
	out := &pluginv1.Needs{MemoryBytes: n.Memory, Cpu: n.CPU}
	for _, l := range grant.Lists {
		*l.List(out) = cleanAll(*l.List(n))
	}
	return out
}

// needsFromProto returns needs in their one form, so that two starts that declare the same
// differ in nothing.
func needsFromProto(p *pluginv1.Needs) (*tool.Needs, error) {
	if p == nil {
		return nil, nil
	}
	n := &tool.Needs{Memory: p.GetMemoryBytes(), CPU: p.GetCpu()}
	for _, l := range grant.Lists {
		l.Copy(n, p)
	}
	if err := need.Check(n); err != nil {
		return nil, err
	}
	return need.Normal(n), nil
}
