//go:build !unix

package session

// terminalSession is not known on this system, which has no daemon.
func terminalSession() int { return 0 }
