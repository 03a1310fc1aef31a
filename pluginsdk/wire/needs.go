package wire

import (
	"iter"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

const fieldNeeds protowire.Number = 8 // of DescribeResponse

// needsLists are the fields of the lists of Needs, by number.
var needsLists = map[protowire.Number]string{1: "read", 2: "write", 3: "net", 4: "exec"}

// checkNeedsBounds rejects needs with too many entries, or one that is too long, before they are
// decoded. A message may have them in several parts.
func checkNeedsBounds(b []byte) error {
	entries := map[protowire.Number]int{}
	for part := range fieldsOf(b, fieldNeeds) {
		for len(part) > 0 {
			num, kind, length := protowire.ConsumeField(part)
			if length < 0 {
				break // malformed; decoding reports the error
			}
			if name := needsLists[num]; name != "" && kind == protowire.BytesType {
				if entries[num]++; entries[num] > tool.MaxNeeds {
					return tool.Errorf(tool.CodeInvalidDefinition, "the declared needs have more than %d entries of %s", tool.MaxNeeds, name)
				}
				if length > tool.MaxNeedLength+8 { // its tag and size
					return tool.Errorf(tool.CodeInvalidDefinition, "the declared needs have an entry of %s with more than %d bytes", name, tool.MaxNeedLength)
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
	return &pluginv1.Needs{
		Read: cleanAll(n.Read), Write: cleanAll(n.Write), Net: cleanAll(n.Net), Exec: cleanAll(n.Exec),
		MemoryBytes: n.Memory, Cpu: n.CPU,
	}
}

// needsFromProto returns needs in their one form, so that two starts that declare the same
// differ in nothing.
func needsFromProto(p *pluginv1.Needs) (*tool.Needs, error) {
	if p == nil {
		return nil, nil
	}
	n := &tool.Needs{
		Read: p.GetRead(), Write: p.GetWrite(), Net: p.GetNet(), Exec: p.GetExec(), Memory: p.GetMemoryBytes(), CPU: p.GetCpu(),
	}
	if err := n.Check(); err != nil {
		return nil, err
	}
	return n.Normal(), nil
}
