// Package manifest remembers what plugins said of themselves, so that their tools
// can be listed without starting them. Begin with [Open] and [Cache.Key].
//
// What is remembered is found under a [Key], made of everything that a plugin's
// description may honestly depend on. It spares a start and is no authority: a
// host compares it with what the plugin says as soon as the plugin runs.
//
//	DIR/digests           the SHA-256 of binaries, by the identity of their files
//	DIR/manifests/KEY     one description each
//
// The directory is private. A file in it that somebody else owns or may write, that
// is too large, or whose checksum is wrong counts as not there, and is written anew.
// Files are written under another name and renamed, so that any number of processes
// may share the directory.
package manifest
