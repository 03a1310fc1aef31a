// Package plugin has the words in which a host and its operator speak of plugins and servers: how one
// is run ([Settings], [Sandbox], [Limits], [RestartPolicy]), what becomes of it ([Status], [State],
// [Event]), and how something else that serves tools is reached ([Server], [Connector]).
//
// A host finds, starts and supervises them. What it believes about a plugin it has checked;
// docs/isolation.md lists what is contained and how.
package plugin
