//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "probe: its attempts are system calls of Linux")
	os.Exit(1)
}
