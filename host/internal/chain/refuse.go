package chain

import "github.com/toolhost/toolhost/pluginsdk/tool"

// refuse returns the error for a call that is refused within the host.
func refuse(stage string, code tool.Code, name, message, hint string) *tool.Error {
	return tool.Errorf(code, "%s", message).Of(name, "").At(stage).NeverSent().Try(hint)
}
