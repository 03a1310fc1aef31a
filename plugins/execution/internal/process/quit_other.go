//go:build !unix

package process

// quit does nothing: there are no signals here.
func quit(int) {}

func quitGroup(int) {}
