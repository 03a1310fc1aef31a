// Package auditindex remembers where what stands in an audit log, and sums of its calls, so that a question does not
// read all of it. Begin with [Open].
//
// An index is a cache: files of this user, made by who asks, that may be removed at any time. It has a segment for
// each 32 MiB of each file of the log, which says of each zone of 64 KiB what may be in it, in which zone each call
// stands, and what the calls of each quarter of an hour sum up to. (Each time zone is some quarters from UTC, so that
// hours and days are sums of quarters.) A segment counts as long as its checksums are right and its last line is the
// one that stands there in the log. What no segment covers yet is read.
//
// What is shown of a call is read from the log, never from the index, and [audit.Verify] knows nothing of it.
package auditindex
