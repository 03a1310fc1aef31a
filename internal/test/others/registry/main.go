// Registry is a registry of OCI artifacts on a loopback address, which it prints. It ends when its
// standard input does.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // at once
	if err != nil {
		log.Fatal(err)
	}
	_, _ = fmt.Fprintln(os.Stdout, listener.Addr())
	server := &http.Server{Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0))), ReadHeaderTimeout: time.Minute}
	go func() { log.Fatal(server.Serve(listener)) }()
	_, _ = io.Copy(io.Discard, os.Stdin)
}
