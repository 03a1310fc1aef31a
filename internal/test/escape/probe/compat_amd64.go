//go:build linux

package main

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/escape"
)

// compatCode makes a system call of i386, which has another number in a filter for amd64, and
// returns what it returns.
var compatCode = []byte{
	0xb8, 0x67, 0x01, 0x00, 0x00, // mov eax, 359 (socket)
	0xbb, 0x02, 0x00, 0x00, 0x00, // mov ebx, AF_INET
	0xb9, 0x02, 0x00, 0x00, 0x00, // mov ecx, SOCK_DGRAM
	0x31, 0xd2, // xor edx, edx
	0xcd, 0x80, // int 0x80
	0x48, 0x98, // cdqe
	0xc3, // ret
}

func compat() map[string]func(*escape.World) escape.Answer {
	return map[string]func(*escape.World) escape.Answer{
		"calls-i386": func(*escape.World) escape.Answer {
			code, err := executable(compatCode)
			if err != nil {
				return outcome(err)
			}
			var c child
			// What a kernel without i386 sends is to end the child, and not to reach Go's handler: SIG_DFL.
			c.do(unix.SYS_RT_SIGACTION, int(unix.SIGSEGV), make([]byte, 32), 0, 8)
			c.call(code)
			err = c.run()
			if errors.Is(err, errEnded) { // a kernel without i386, or a filter
				return escape.Answer{Outcome: escape.Unavailable, Note: err.Error()}
			}
			return outcome(err)
		},
		"calls-x32": func(*escape.World) escape.Answer {
			const x32 = 0x40000000
			var c child
			c.do(x32|unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM, 0)
			err := c.run()
			if errors.Is(err, errEnded) {
				return denied(err.Error())
			}
			return outcome(err)
		},
		"descriptor-table": func(*escape.World) escape.Answer {
			var c child
			c.do(unix.SYS_MODIFY_LDT, 0, make([]byte, 16), 16)
			return outcome(c.run())
		},
	}
}
