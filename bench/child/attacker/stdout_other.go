//go:build !unix

package main

import "os"

// realStdout is what pluginsdk leaves as it is here.
func realStdout() *os.File { return os.Stdout }
