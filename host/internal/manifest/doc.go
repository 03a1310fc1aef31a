// Package manifest remembers what plugins said of themselves, so that their tools
// can be listed without starting them. Begin with [Open] and [Cache.Find].
//
// There is a JSON file for each plugin and way to run it, with the SHA-256 of its binary
// and its description. It spares a start and is not an authority: a host compares it with
// what the plugin says as soon as the plugin runs.
//
//	DIR/toolhost-manifests/CACHEDIR.TAG   says that toolhost made the directory
//	DIR/toolhost-manifests/KEY.json       KEY is 64 hexadecimal digits
//
// DIR may be used by others, such as a project. Only the directory in it is used, if it has
// the marker, and in that only files of these names are written or removed.
//
// The directory is private. A file in it that another user owns or may write, that is too
// large, or that is not as it was written counts as missing, and is written again. Files are
// written under another name and renamed, so that any number of processes may share the
// directory.
package manifest
