// Package procs looks at the processes that /proc shows, most of which are not ours: what
// they can choose, such as how large their environment is, costs who looks a bounded
// amount (Linux). Start with Each.
package procs
