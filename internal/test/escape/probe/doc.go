// Command probe is a plugin that tries to get out of its sandbox. Its tool, attempt, makes
// one of the attempts of package escape, in a world that a test has made, and tells how it
// ended: done only if the effect was there.
//
// Started as "probe run" it takes the same arguments as lines on its
// standard input. "probe victim" is a process to be attacked.
package main
