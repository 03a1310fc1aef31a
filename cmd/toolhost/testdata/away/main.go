// Command away is a plugin that sends its host away, for too many pings, as soon as that
// has connected.
package main

import (
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/net/http2"
)

func main() {
	l, err := net.Listen("unix", filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "away")) //nolint:noctx // it lives as long as the process
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("1|1|unix|%s|grpc\n", l.Addr())
	conn, err := l.Accept()
	if err != nil {
		log.Fatal(err)
	}
	f := http2.NewFramer(conn, conn)
	if err := f.WriteSettings(); err != nil {
		log.Fatal(err)
	}
	if err := f.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, []byte("too_many_pings")); err != nil {
		log.Fatal(err)
	}
	_, _ = conn.Read(make([]byte, 1<<10)) // as long as the host is there
}
