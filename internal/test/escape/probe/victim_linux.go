package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/escape"
)

// victimVariable is the variable of a victim that has the secret.
const victimVariable = "ESCAPE_SECRET"

// beVictim is what a victim does: it prints what attackers are told of it, then "signal" and
// a name for each signal that it gets, and "scratch" and its scratch memory for each line of
// input, and ends with the input. Its working directory has the file "secret".
func beVictim() {
	var lines sync.Mutex
	say := func(format string, args ...any) {
		lines.Lock()
		defer lines.Unlock()
		_, _ = fmt.Fprintf(os.Stdout, format+"\n", args...)
	}
	arrived := make(chan os.Signal, 64)
	signal.Notify(arrived, catches...)
	secret := []byte(os.Getenv(victimVariable))
	scratch := make([]byte, len(secret))
	file, err := unnamed(secret)
	if err != nil {
		panic(err)
	}
	text, err := json.Marshal(escape.Victim{
		PID: os.Getpid(), TID: unix.Gettid(), File: int(file.Fd()), Length: len(secret),
		Secret: uintptr(unsafe.Pointer(&secret[0])), Scratch: uintptr(unsafe.Pointer(&scratch[0])),
	})
	if err != nil {
		panic(err)
	}
	say("%s", text)
	go func() {
		for s := range arrived {
			if s, ok := s.(syscall.Signal); ok {
				say("signal %s", unix.SignalName(s))
			}
		}
	}()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		say("scratch %q", scratch)
	}
	_ = file.Close()
}

// unnamed is a file that has no name any more.
func unnamed(content []byte) (*os.File, error) {
	f, err := os.CreateTemp("", "victim-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, err
	}
	_, err = f.Write(content)
	return f, err
}
