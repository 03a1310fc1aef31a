// Package confine keeps together what a program starts: it gives a process a session and
// a PID namespace of its own ([Isolate]), waits for it, and finds and ends what it leaves
// behind ([Group]). Where there is no namespace, processes are known by what their descendants inherit,
// whatever session or parent they make themselves: a mark in the environment, and a [Brand], which
// they cannot clear. [Adopt] keeps them below this process.
//
// Hosts also leave a mark of who they are, so that a later host can end what a killed one
// left: see [NewRun], [Claim] and [Sweep].
//
// Most of this exists on Linux alone. Elsewhere processes are started without namespaces,
// and nothing is found.
package confine
