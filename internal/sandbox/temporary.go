package sandbox

// shared is the directory of shared memory and semaphores (shm_overview(7)).
const shared = "/dev/shm"

// temporary returns the directory of its own in which the process has temporary files; empty: it
// has those of its user, or none.
func (p *Plan) temporary() string {
	of := p.Profile
	switch {
	case p.view == grantedView:
		return "/tmp"
	case of.Write.Any:
		return ""
	case p.view == wholeView && exists(shared):
		return shared
	case p.view == sameView && p.landlock:
		return of.Sockets
	}
	return ""
}
