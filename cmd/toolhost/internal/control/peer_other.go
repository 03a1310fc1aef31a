//go:build !linux && !darwin && !freebsd

package control

func binaryOf(int) (binary, name string) { return "", "" }
