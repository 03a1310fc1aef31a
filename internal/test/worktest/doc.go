// Package worktest is the proof that a sandbox does not break what a plugin is for: its tests run
// a real plugin whose children are the programs that tools start (git, go, Python, Node, curl),
// under the profile that it declares for them, in each kind of sandbox that this system has.
package worktest
