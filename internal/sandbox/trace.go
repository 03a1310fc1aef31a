package sandbox

import "net/netip"

// UseKind says how a traced process used something.
type UseKind int

// The kinds of uses.
const (
	Reads    UseKind = iota // a file or directory, or connects to a socket that is a file
	Writes                  // a file that exists
	Makes                   // an entry of a directory that did not exist
	Removes                 // or replaces an entry of a directory
	Runs                    // a program
	Connects                // to an address outside its own processes
	Unseen                  // something that the host cannot look at
)

// Use is something that a traced process used.
type Use struct {
	Kind UseKind
	// Path is absolute and as the process named it, and Real is where it led through links.
	// Empty for addresses, and for a program without a file.
	Path, Real string
	// Address is an address of the Internet, or if Name is not empty, that names what else is
	// connected to.
	Address netip.AddrPort
	Name    string
}
