package main

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/escape"
)

// The operations of io_uring(7) that are used here.
const (
	uringOpConnect = 16
	uringOpOpenat  = 18
	uringOpSocket  = 45
)

// uring is a queue of one entry, by which the kernel carries out system calls that a filter
// of system calls does not see.
type uring struct {
	fd      int
	sq, sqe []byte
	sqTail  *uint32
	sqArray *uint32
	cqHead  *uint32
	cqes    int
}

func newUring() (*uring, error) {
	params := make([]byte, 120)
	fd, err := call(unix.SYS_IO_URING_SETUP, 1, params)
	if err != nil {
		return nil, err
	}
	u := &uring{fd: int(fd)}
	at := func(i int) uint32 { return binary.NativeEndian.Uint32(params[i:]) }
	const features, singleMap = 20, 1
	if at(features)&singleMap == 0 {
		return nil, errors.Join(unix.ENOSYS, u.close())
	}
	size := max(at(64)+at(0)*4, at(100)+at(4)*16) // sq_off.array, cq_off.cqes
	u.sq, err = unix.Mmap(u.fd, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err == nil {
		u.sqe, err = unix.Mmap(u.fd, 0x10000000, 64, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		return nil, errors.Join(err, u.close())
	}
	word := func(i uint32) *uint32 { return (*uint32)(unsafe.Pointer(&u.sq[i])) }
	u.sqTail, u.sqArray = word(at(44)), word(at(64))
	u.cqHead, u.cqes = word(at(80)), int(at(100))
	return u, nil
}

func (u *uring) close() error { return unix.Close(u.fd) }

// do carries out one operation: its descriptor, address (in the heap), length and the field
// "off".
func (u *uring) do(op byte, fd int, addr unsafe.Pointer, length uint32, off uint64) (int, error) {
	clear(u.sqe)
	u.sqe[0] = op
	binary.NativeEndian.PutUint32(u.sqe[4:], uint32(fd))
	binary.NativeEndian.PutUint64(u.sqe[8:], off)
	binary.NativeEndian.PutUint64(u.sqe[16:], uint64(uintptr(addr)))
	binary.NativeEndian.PutUint32(u.sqe[24:], length)
	*u.sqArray = 0
	*u.sqTail++
	const getEvents = 1
	if _, err := call(unix.SYS_IO_URING_ENTER, u.fd, 1, 1, getEvents); err != nil {
		return 0, err
	}
	result := int32(binary.NativeEndian.Uint32(u.sq[u.cqes+int(*u.cqHead&1)*16+8:]))
	*u.cqHead++
	if result < 0 {
		return 0, unix.Errno(-result)
	}
	return int(result), nil
}

func uringOpen(w *escape.World) escape.Answer {
	u, err := newUring()
	if err != nil {
		return outcome(err)
	}
	defer func() { _ = u.close() }()
	path, _ := unix.BytePtrFromString(w.Secret)
	fd, err := u.do(uringOpOpenat, unix.AT_FDCWD, unsafe.Pointer(path), 0, 0)
	runtime.KeepAlive(path)
	return contentOf(fd, err)
}

func uringConnect(w *escape.World) escape.Answer {
	u, err := newUring()
	if err != nil {
		return outcome(err)
	}
	defer func() { _ = u.close() }()
	fd, err := u.do(uringOpSocket, unix.AF_INET, nil, 0, unix.SOCK_STREAM)
	if err != nil {
		return outcome(err)
	}
	to := sockaddr(w.TCP).(*unix.SockaddrInet4) //nolint:forcetypeassert // it is one
	raw := &unix.RawSockaddrInet4{Family: unix.AF_INET, Port: uint16(to.Port)<<8 | uint16(to.Port)>>8, Addr: to.Addr}
	if _, err := u.do(uringOpConnect, fd, unsafe.Pointer(raw), 0, unix.SizeofSockaddrInet4); err != nil {
		_ = unix.Close(fd)
		return outcome(err)
	}
	runtime.KeepAlive(raw)
	f := os.NewFile(uintptr(fd), "socket")
	defer func() { _ = f.Close() }()
	if _, err := f.WriteString(w.Nonce); err != nil {
		return outcome(err)
	}
	return contentIs(fd, w.Nonce)
}
