// Package roster holds the plugins of a host together, and the other providers that
// its embedder attached. It loads them, remembers what they say of themselves, and
// upgrades, restarts and withdraws them; whatever they serve, it publishes in a
// [Registry]. Start with [New], then [Roster.Load].
//
// Each plugin, by its name, is one member. A member is in one of four states, and
// member.become has every transition between them. The source of a member is the answer to
// "which plugin is current"; plugin.Plugin.Description is the answer to "what did it
// say last".
//
// # Order of locks
//
// A goroutine that holds one of these locks may take those that are further down, never
// one that is further up, and never a second one of its own kind:
//
//	member.turn      for one step (load, upgrade, withdraw, restart) from its decision to
//	                 its end; its holder waits for processes. Load alone holds several,
//	                 and takes them sorted by name.
//	Roster.starting  a start slot: only a few plugins start at a time. Its holder waits
//	                 for processes.
//	member.mu        while what a source serves is listed, compiled and published, so that
//	                 an older listing never replaces a newer one.
//	member.publishing  while that is published, or the source is detached.
//	Roster.publishing  while tools are put into the Registry, and what became of their names
//	                 is noted.
//	the Registry's   see package host: writers of the registry, one at a time.
//	socketDirs.mu, directories.mu, that of known.Book
//	                 each guards one file, directory or list.
//	Roster.mu        states and sources; never held while waiting.
//	plugin.Plugin's  see package plugin.
//
// Calls to tools take none of these, except that a call whose definition has changed
// refreshes its plugin (member.mu) before it fails.
package roster
