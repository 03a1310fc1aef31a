// Package manifest remembers what plugins said of themselves, so that their tools
// can be listed without starting them. Begin with [Open] and [Cache.Key].
//
// What is remembered is found under a [Key], made of everything that a plugin's
// description may honestly depend on. It spares a start and is no authority: a
// host compares it with what the plugin says as soon as the plugin runs.
//
//	DIR/toolhost-manifests/CACHEDIR.TAG   says that toolhost made it
//	DIR/toolhost-manifests/digests        the SHA-256 of binaries, by the identity of their files
//	DIR/toolhost-manifests/KEY            one description each, KEY being 64 hexadecimal digits
//
// DIR may be anybody's, such as a project. Only the directory in it is used, if it has
// the marker, and in that only files of these names are written or removed.
//
// The directory is private. A file in it that somebody else owns or may write, that
// is too large, or whose checksum is wrong counts as not there, and is written anew.
// Files are written under another name and renamed, so that any number of processes
// may share the directory.
package manifest
