package plugin

import "cmp"

// Candidate is a file that counts as a plugin. It was not opened or run.
type Candidate struct {
	// Name is the plugin's name: that of its file, without a leading "toolhost-plugin-".
	Name string
	// Path is absolute, and directly in the plugin directory.
	Path string
	// Target is where Path led when it was found to be a symbolic link; empty: it is the
	// file itself.
	Target string
}

// Binary returns the path of the file that runs.
func (c Candidate) Binary() string { return cmp.Or(c.Target, c.Path) }

// Skipped is an entry of a plugin directory that is not a plugin, and why.
type Skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}
