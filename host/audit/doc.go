// Package audit is the log of calls: who called which tool with what, who said
// yes, and what came of it.
//
// Start with [Open], which makes a [File], the [Sink] on disk. [Tail], [Search]
// and [Follow] read it, [Verify] checks it.
//
// # The file
//
// JSON lines of UTF-8 without control characters. Each begins with its number
// and the hash of the line before it, and ends with its own:
//
//	{"seq":7,"prev":"sha256:...","time":"...","event":"end",...,"hash":"sha256:..."}
//
// The hash is the SHA-256 of the line's bytes without `,"hash":"..."` and the
// newline, so that any program can check it. The first line's prev is empty.
// Two more keys may stand behind prev: torn is the digest of a piece of a line
// that a crash left right before this one, and oldest the number of the first
// line that was kept when older files were deleted.
//
// The keys between are those of [Record]. input and arguments are what the tool was
// given; where an approver has changed that, asked_input and asked_arguments are what
// the caller had asked for, in the begin line and in the end line.
//
// A file that would grow beyond [Options].MaxSize is renamed (audit.jsonl to
// audit.jsonl.000001, the next to .000002) and the chain goes on in a new one.
//
// # What the chain shows, and what not
//
// A line that was edited, dropped, inserted or moved, and a file that is
// missing, the oldest included, are found by [Verify]. Lines cut off at the end
// are not: no line that is left knows of them. A process that still has the log
// open does, and goes on from what it wrote, so that the gap shows. Nor does the
// chain stop somebody who may write the file from computing all of it anew.
// Against both helps a copy of the newest hash in another place.
//
// # Several writers
//
// Any number of goroutines and processes may write one log: each append takes the
// lock of a file beside it (audit.jsonl.lock, mode 0600) and continues from the line
// that is the last by then. Whoever may only read the log cannot hold up its
// writers. A process that was stopped with the lock holds up one call, for 2 s; then
// end lines wait in memory and begin lines fail, until the lock is free.
//
// Of what others may have put there no more is believed than can be checked: a
// line's number is at most 2⁵³-1, a rotated file's at most 999999999, and a log
// without a record in its last 512 KiB is not written. Readers give up a line that
// does not end in 16 MiB, with the rest of its file.
package audit
