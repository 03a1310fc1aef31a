// Package sealed makes sure that the bytes that were hashed are the bytes that run. Begin
// with [Copy].
//
// A path can lead to another file by the time it is run, and even an open descriptor runs
// what was written into the file since. So a binary is read once, and what is read is both
// hashed and kept:
//
//   - on Linux in a memory file that is sealed against every change (memfd_create(2)),
//     run through /proc/self/fd;
//   - scripts, which their interpreter opens again by name, and all files on other systems
//     or where a memory file may not be run, in a private copy in a directory that the
//     caller names, which belongs to this user alone. This user's other processes could
//     still change that copy.
package sealed
