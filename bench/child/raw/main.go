// Command raw answers on the Unix socket that its argument names until its
// standard input ends. It says so in one line when callers can come.
package main

import (
	"io"
	"log"
	"net"
	"os"

	"github.com/toolhost/toolhost/bench/internal/raw"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: raw SOCKET")
	}
	l, err := net.Listen("unix", os.Args[1]) //nolint:noctx // it lives as long as the process
	if err != nil {
		log.Fatal(err)
	}
	go func() { // the parent's death closes the pipe too
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = l.Close()
	}()
	if _, err := io.WriteString(os.Stdout, "ready\n"); err != nil {
		log.Fatal(err)
	}
	_ = raw.Serve(l) // until it is closed
}
