// Command execution is a toolhost plugin that evaluates Go: expressions,
// statements and declarations, compiled by the real toolchain as a part of a
// package of the workspace, so that unexported names are in scope.
//
// Start with [evaluator.tools]. A form is parsed into declarations and a body
// (form.go), which becomes files (source.go) that the go command sees as part of
// the package through an overlay: nothing is written into the workspace. The
// types are checked in this process (check.go), the program is built
// (build.go) and run under limits (process.go). What a caller declared is kept
// for its session and package (session.go).
//
// # What bounds a program
//
// Time, memory, processes, output and the size of files, each by [limits]. On Linux
// it has a PID namespace of its own wherever one can be made, so that the kernel
// ends all of its processes with the first; elsewhere, what it started is found by
// its process group and by a variable of its environment, which a program can
// escape that leaves the group and clears its environment. Processes are counted,
// and their memory is summed up, every 50 ms, on Linux only: a program that forks
// without end gets as far as it can in that time. macOS bounds time, output and the
// size of files; Windows bounds time and output, and ends the first process only.
//
// It is no sandbox: a program may read and write what the plugin's user may, and
// reach the network.
package main
