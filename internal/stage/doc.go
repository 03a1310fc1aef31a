// Package stage starts a program through the *stage*: a program of some forty instructions, in
// memory, that carries out a list of system calls and then becomes the program. The first
// thing to call is [NewProgram].
//
// A process that Go forks shares its parent's memory until it runs a program, and the thread
// that forks waits for that (CLONE_VFORK) in a way that the Go runtime takes for work: the next
// garbage collection waits for the thread, and with it the whole parent. So nothing may be done
// in between that can take long: entering a directory, opening a binary, its interpreter or
// loader, mounting, and closing descriptors may all have to wait for a file system that does not
// answer, and opening also for another process that has a lease on the file (fcntl(2),
// F_SETLEASE).
//
// The stage is in memory, so that it is run at once, and does all of that. It may hang as long
// as it likes, alone, with a process number by which it is killed. What it costs is one more
// execve of two pages. Because the list is data, made before the fork, whatever a process has to
// do to itself before it becomes the program, such as entering a sandbox, is decided and tested
// in Go, and needs neither a Go runtime in the new process nor a line in the main function of
// who starts it.
//
// It exists on Linux on amd64 and arm64, from 5.9 on, where memory files may be run.
package stage
