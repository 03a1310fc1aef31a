// Package audit is the log of calls: who called which tool with what, who approved it, and
// how it ended. Lines of [Admin] say the same of what changes who may do what.
//
//	file, err := audit.Open("audit.jsonl", audit.Options{})
//	if err != nil {
//		return err
//	}
//	defer func() { _ = file.Close() }() // after the host
//	h, err := host.New(host.WithAudit(file))
//	if err != nil {
//		return err
//	}
//	return h.Close(ctx)
//
// [Open] returns a [File], the [Sink] on disk. [Search] reads and follows it, [Verify] checks it.
//
// # The file
//
// JSON lines of UTF-8 without control characters. Each begins with its number and the hash
// of the line before it, and ends with its own hash:
//
//	{"seq":7,"prev":"sha256:...","time":"...","event":"end",...,"hash":"sha256:..."}
//
// The hash is the SHA-256 of the line's bytes without `,"hash":"..."` and the newline, so
// that any program can check it. The first line's prev is empty. Two more keys may follow
// prev: torn is the digest of a piece of a line that a crash left right before this one, and
// oldest the number of the first line that was kept when older files were deleted.
//
// The keys between are those of [Record]. input and arguments are what the tool was given; if
// an approver changed that, asked_input and asked_arguments are what the caller had asked
// for, in the begin line and in the end line.
//
// A file that would grow beyond [Options].MaxSize is renamed (audit.jsonl to
// audit.jsonl.000001, the next to .000002) and the chain continues in a new one. The oldest files
// are deleted by [Options].Keep and MaxAge: those that have such names and end with a record.
//
// # What the chain shows, and what not
//
// [Verify] finds the first line that was edited, dropped, inserted or moved, and the first
// file that is missing, the oldest included. It does not find lines that were cut off at the
// end: no line that is left knows of them. A process that still has the log open does, and
// continues from what it wrote, so that the gap shows. With [Options].Head the newest line is
// remembered in another file, which shows the gap to all processes and to Verify, and also that
// the whole log was removed. Nor does the chain stop an attacker who may write the files from
// computing all of it again. A copy of the newest hash in another place helps against that.
//
// # Several writers
//
// Any number of goroutines and processes may write one log: each append locks a file next to
// it (audit.jsonl.lock, mode 0600) and continues from the line that is then the last. That others have
// removed, replaced or cut the file is noticed by the next line; that they have moved it away, within 0.1 s.
// Users who may only read the log cannot delay its writers. A process that was stopped with the lock
// delays one call, for 2 s; then end lines wait in memory and begin lines fail, until the lock
// is free.
//
// What others may have put there is believed only if it can be checked: a line's number is at
// most 2⁵³-1, a rotated file's at most 999999999, and a log without a record in its last
// 512 KiB is not written. Readers stop at a line that does not end in 16 MiB, and skip the
// rest of its file.
package audit
