// Package gocache lets the go command of a plugin use what its user has compiled already, without
// letting the plugin change that: a cache of the plugin's own in front of the user's, which is
// only read. The plugin is the program that the go command asks (GOCACHEPROG, Go 1.24): [Main]
// serves it, and [Use] has the go command start it.
//
// Both caches have the go command's own layout, ID-a with what an action has put out and ID-d
// with the output. It is not documented; what cannot be read in it is compiled again.
package gocache

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// User is the user's cache where the go command has it on Linux, as a plugin declares that it reads
// it.
const User = "~/.cache/go-build"

// word is the argument of a program that is to serve a cache.
const word = "serve-go-cache"

// Main serves the go command and ends the process if that has started it. Call it first in main.
func Main() {
	if len(os.Args) != 4 || os.Args[1] != word {
		return
	}
	if err := serve(os.Stdin, os.Stdout, store(os.Args[2]), store(os.Args[3])); err != nil {
		fmt.Fprintln(os.Stderr, "the cache of the go command:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Use has the go commands that this process starts use the user's cache besides the one that they
// are given, if that is another. Where it cannot be read, nothing changes.
func Use() {
	own, home := os.Getenv("GOCACHE"), os.Getenv("HOME")
	if runtime.GOOS != "linux" || own == "" || home == "" || os.Getenv("GOCACHEPROG") != "" {
		return
	}
	user := filepath.Join(home, filepath.FromSlash(User[2:]))
	if own == user || strings.ContainsAny(own+user, `'"`) { // GOCACHEPROG has quotes, and no way to quote them
		return
	}
	if _, err := os.ReadDir(filepath.Join(user, "00")); err != nil {
		return // there is none, or it was not granted
	}
	// By this path the program is found also if it runs from memory.
	self := fmt.Sprintf("/proc/%d/exe", os.Getpid())
	_ = os.Setenv("GOCACHEPROG", fmt.Sprintf("%s %s '%s' '%s'", self, word, own, user)) // no error but of the name
}
