//go:build !linux

// Package fulldisk gives a test a file system with little room. Only Linux has it.
package fulldisk
