package egress

import (
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/need"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// CheckNeeds is [need.Check] with what only a host knows: under which names anyone can have one, and
// which addresses are not public. A declaration that passes is one that a plugin can be started with.
//
// # Errors
//
// [tool.CodeInvalidDefinition].
func CheckNeeds(n *tool.Needs) error {
	if err := need.Check(n); err != nil || n == nil {
		return err
	}
	for _, host := range n.Net {
		if host == tool.Any {
			continue
		}
		if _, err := ParsePattern(host); err != nil {
			return tool.Errorf(tool.CodeInvalidDefinition, "the declared needs are malformed: net %w", err).At(callstage.Register)
		}
	}
	return nil
}
