//go:build !(linux || darwin || freebsd)

package doctor

// What follows is not known on this system.

func spaceOf(string) (space, bool)    { return space{}, false }
func mountedNoexec(string) bool       { return false }
func descriptorLimit() (uint64, bool) { return 0, false }
func mayWrite(string) error           { return nil }
