package main

import (
	"io"
	"net"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/escape"
)

// unixSockets are ways to speak to other processes of the machine.
func unixSockets() map[string]func(*escape.World) escape.Answer {
	return map[string]func(*escape.World) escape.Answer{
		"unix-daemon":   func(w *escape.World) escape.Answer { return tell("unix", w.Daemon, w) },
		"unix-foreign":  func(w *escape.World) escape.Answer { return tell("unix", w.Foreign, w) },
		"unix-inside":   func(w *escape.World) escape.Answer { return tell("unix", w.Inside, w) },
		"unix-abstract": func(w *escape.World) escape.Answer { return tell("unix", "@"+w.Abstract, w) },
		"unix-proc": func(w *escape.World) escape.Answer {
			return tell("unix", proc(w.Neighbour, "root"+w.Daemon), w)
		},
		"unix-datagram": func(w *escape.World) escape.Answer {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return outcome(err)
			}
			defer func() { _ = unix.Close(fd) }()
			return outcome(unix.Sendto(fd, []byte(w.Nonce), 0, &unix.SockaddrUnix{Name: w.Datagram}))
		},
		"unix-pair-datagram": func(w *escape.World) escape.Answer {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return outcome(err)
			}
			defer func() { _, _ = unix.Close(pair[0]), unix.Close(pair[1]) }()
			return outcome(unix.Sendto(pair[0], []byte(w.Nonce), 0, &unix.SockaddrUnix{Name: w.Datagram}))
		},
		"unix-pair": func(w *escape.World) escape.Answer {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return outcome(err)
			}
			defer func() { _, _ = unix.Close(pair[0]), unix.Close(pair[1]) }()
			if _, err := unix.Write(pair[0], []byte(w.Nonce)); err != nil {
				return outcome(err)
			}
			return contentIs(pair[1], w.Nonce)
		},
		"unix-own": inScratch(func(w *escape.World, dir string) escape.Answer {
			l, err := net.Listen("unix", dir+"/socket")
			if err != nil {
				return netOutcome(err)
			}
			defer func() { _ = l.Close() }()
			go func() {
				if conn, err := l.Accept(); err == nil {
					_, _ = io.CopyN(conn, conn, int64(len(w.Nonce)))
					_ = conn.Close()
				}
			}()
			return tell("unix", dir+"/socket", w)
		}),
	}
}

func contentIs(fd int, want string) escape.Answer {
	text := make([]byte, len(want))
	if _, err := unix.Read(fd, text); err != nil {
		return outcome(err)
	}
	return outcome(same(string(text), want))
}
