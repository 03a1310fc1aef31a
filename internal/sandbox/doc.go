// Package sandbox turns what a process may do, a [Profile], and what this system can enforce,
// [Features], into a [Plan]: the system calls with which the process confines itself in the stage
// (package stage) before it becomes the program, and a report of what enforces each line of the
// profile and what nothing here enforces. The first function to call is [New].
//
// A plan never enforces less than it reports: a mechanism that is found to be there and fails at
// a start fails the start.
package sandbox
