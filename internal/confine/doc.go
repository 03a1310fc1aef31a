// Package confine keeps together what a program starts: it gives a process a session and
// a PID namespace of its own ([Isolate]), waits for it, and finds and ends what it leaves
// behind ([Group]). Where there is no namespace, processes are known by a mark in their
// environment, which descendants inherit whatever session or parent they make themselves;
// a process that clears its environment is not found.
//
// Hosts also leave a mark of who they are, so that a later host can end what a killed one
// left: see [NewMark], [Claim] and [Sweep].
//
// Most of this exists on Linux alone. Elsewhere processes are started without namespaces,
// and nothing is found.
package confine
