package main

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// executable returns machine code that can be run, as a function that returns a word.
func executable(code []byte) (func() uintptr, error) {
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, err
	}
	copy(page, code)
	if err := unix.Mprotect(page, unix.PROT_READ|unix.PROT_EXEC); err != nil {
		return nil, err
	}
	entry := new(unsafe.Pointer)
	*entry = unsafe.Pointer(&page[0])
	at := unsafe.Pointer(entry) // a function value points to where its code is
	return *(*func() uintptr)(unsafe.Pointer(&at)), nil
}
