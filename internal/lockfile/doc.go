// Package lockfile reads and writes toolhost.lock, which pins the plugins that may
// run: the bytes of each binary, the definitions of its tools, and its version. Begin
// with [Read] and [Lock.Check].
//
// # The file
//
// UTF-8 text of one fact a line, sorted by plugin, so that a change shows as the lines
// that changed, and two branches that changed different plugins merge:
//
//	# Made by toolhost plugins lock. ...
//	format 1
//
//	buffer binary sha256:0f3c...
//	buffer definitions sha256:9b1d...
//	buffer version 1.2.0
//
// Lines that begin with # are comments, and blank lines mean nothing. A plugin has
// each of the three facts once; their order is not looked at. Digests have 64
// lower-case hexadecimal digits. A version that is empty or has anything but letters,
// digits and ._+- in it is quoted as in Go.
//
// The version is what people read; what counts are the digests, so a version alone
// that differs is refused too, as one of the digests was made from something else.
package lockfile
