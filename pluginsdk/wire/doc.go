// Package wire is both ends of the contract in
// proto/toolhost/plugin/v1/plugin.proto, and the only package that knows
// protobuf: [Server] shows a tool.Provider to a host, [Client] shows a
// plugin's connection as Go values. Authors want package pluginsdk instead.
package wire
