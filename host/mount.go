package host

import (
	"context"
	"reflect"

	"github.com/toolhost/toolhost/host/plugin"
)

// Mount adds the tools of a server that is reached by a [plugin.Connector], such as an MCP
// server, and follows their changes. It is run as plugins are: started by the first call if
// [WithCache] remembers its tools, and now if it does not; restarted, quarantined, drained and
// pinned as they are; and it is one of [Host.Plugins]. [Host.Detach] removes it; directories
// of plugins have no part in it. It returns how many tools the registry holds.
//
// Mounting a server of a name again changes nothing, unless its identity, revision or settings
// are others: then it is upgraded as a plugin is, without losing a call.
//
// A server that did not start stays mounted without tools, and is started again after pauses
// that grow, by a call that may be for one of its tools, and by [Host.StartPlugin]. Mount does
// not wait for one that is remembered to fail slowly.
//
// # Errors
//
// [tool.CodeInvalidDefinition] for a server without a name, connector or identity;
// [tool.CodeUnavailable] for a running plugin that may not be connected to;
// [tool.CodeAlreadyExists] if the name is that of a plugin or provider, which stays; those of
// [Host.Load] for a server that does not start, or single tools of it.
func (h *Host) Mount(ctx context.Context, server plugin.Server) (int, error) {
	if reflect.DeepEqual(server.Settings, plugin.Settings{}) {
		server.Settings = h.operator.defaults
	}
	err := h.roster.Mount(ctx, server)
	return h.Len(), err
}

// StartPlugin starts a plugin or a mounted server, if it does not run, and returns when it
// takes calls. One that is remembered to fail is tried all the same.
//
// # Errors
//
// [tool.CodeNotFound] if no plugin has that name; [tool.CodeUnavailable] if it is disabled,
// refused or quarantined, or does not start; the context's end.
func (h *Host) StartPlugin(ctx context.Context, name string) error {
	return h.roster.Start(ctx, name)
}
