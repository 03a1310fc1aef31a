// Package limits is the proof that a plugin which takes more than its limits harms itself alone: its
// tests run a host as a process, with a plugin that takes memory, threads, processes, descriptors,
// processors and the disk, and watch the host and a neighbour meanwhile.
package limits
