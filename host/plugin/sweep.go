package plugin

// Swept is what [Sweep] found of hosts that were killed.
type Swept struct {
	Processes   int // that were running still
	Directories int // of sockets
}

// DirectoryPrefix begins the names of the directories that hosts make for sockets.
const DirectoryPrefix = "toolhost-"

// ownerFile is the file in a host's directory that says whose it is.
const ownerFile = "owner"
