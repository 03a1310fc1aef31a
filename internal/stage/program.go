//go:build linux && (amd64 || arm64)

package stage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os/exec"
	"slices"
	"syscall"
)

// Program is a list of system calls, and the memory that their arguments point to. Descriptors
// are numbered by the program that makes the list: the stage closes all that it was not given,
// so what it opens has the lowest number that is free, [Program.Free].
type Program struct {
	steps []step
	data  bytes.Buffer
	names []string // of the steps, for errors
	free  int
	// The two arguments, by step and place, that are to be the program's arguments and its
	// environment; the kernel put them on the stack of the stage.
	argv, envp slot
	base       uintptr // the address of its memory
}

type step struct {
	Number    uint64
	Arguments [6]uint64
	// What follows if the call fails: 0 ends the stage; n goes on, and leaves out the next
	// n-1 steps.
	Else uint64
}

const stepSize = 64

type slot struct{ step, argument int }

// NewProgram returns an empty list for a process that has the descriptors below free.
func NewProgram(free int) *Program {
	return &Program{free: free, argv: slot{-1, 0}, envp: slot{-1, 0}, base: dataBase}
}

// Free returns the number of the next descriptor that the stage opens.
func (p *Program) Free() int { return p.free }

// Keep says that the descriptor numbered Free is open from now on.
func (p *Program) Keep() int {
	p.free++
	return p.free - 1
}

// Call adds a system call that must succeed. What names it in errors, such as "mount /usr".
func (p *Program) Call(what string, number uintptr, arguments ...uintptr) {
	p.add(what, 0, number, arguments)
}

// Try adds a system call that may fail. If it does, the next skip steps are left out.
func (p *Program) Try(skip int, number uintptr, arguments ...uintptr) {
	p.add("", skip+1, number, arguments)
}

func (p *Program) add(what string, otherwise int, number uintptr, arguments []uintptr) {
	s := step{Number: uint64(number), Else: uint64(otherwise)} //nolint:gosec // small
	for i, a := range arguments {
		s.Arguments[i] = uint64(a)
	}
	p.steps, p.names = append(p.steps, s), append(p.names, what)
}

// Arguments makes arguments of the last step those of the program that the stage becomes, and
// its environment: the addresses of their lists.
func (p *Program) Arguments(argv, envp int) {
	last := len(p.steps) - 1
	p.argv, p.envp = slot{last, argv}, slot{last, envp}
}

// Len returns how many steps there are.
func (p *Program) Len() int { return len(p.steps) }

// Fail makes a step fail, of which the number is as in [Failure]; below 0: none. Tests use it.
func (p *Program) Fail(step int) {
	if step >= 0 {
		p.steps[step].Number = ^uint64(0) // the kernel has no such call
	}
}

// Text returns the address of a string in the stage's memory.
func (p *Program) Text(s string) uintptr { return p.Bytes(append([]byte(s), 0)) }

// Bytes returns the address of bytes in the stage's memory.
func (p *Program) Bytes(b []byte) uintptr {
	at := p.base + headerSize + uintptr(p.data.Len())
	p.data.Write(b)
	p.data.Write(make([]byte, -len(b)&7)) // what follows is aligned
	return at
}

// Struct is Bytes of the fields of a structure of the kernel, in its order and without gaps.
func (p *Program) Struct(fields ...any) uintptr {
	b := make([]byte, 0, 64)
	for _, f := range fields {
		b, _ = binary.Append(b, binary.LittleEndian, f) // of a fixed size
	}
	return p.Bytes(b)
}

// Pointers returns the address of a list of addresses that ends with nil.
func (p *Program) Pointers(list ...uintptr) uintptr {
	fields := make([]any, 0, len(list)+1)
	for _, a := range append(slices.Clone(list), 0) {
		fields = append(fields, uint64(a))
	}
	return p.Struct(fields...)
}

// header is at the beginning of the stage's memory. The assembler knows it.
type header struct {
	Report     uint64 // descriptor
	First      uint64 // address of the first step
	Argv, Envp uint64 // addresses of the arguments to be set
	Unused     uint64 // takes what is not to be set
}

const headerSize = 40

// memory returns the stage's memory.
func (p *Program) memory(report int) []byte {
	first := uint64(p.firstOffset()) //nolint:gosec // small
	address := func(s slot) uint64 {
		if s.step < 0 {
			return uint64(p.base) + headerSize - 8
		}
		return first + uint64(s.step*stepSize+8+8*s.argument) //nolint:gosec // small
	}
	h := header{Report: uint64(report), First: first, Argv: address(p.argv), Envp: address(p.envp)} //nolint:gosec // small
	out := make([]byte, 0, headerSize+p.data.Len()+len(p.steps)*stepSize)
	out, _ = binary.Append(out, binary.LittleEndian, h)
	out = append(out, p.data.Bytes()...)
	for _, s := range p.steps { // reflection takes ten times as long
		out = binary.LittleEndian.AppendUint64(out, s.Number)
		for _, a := range s.Arguments {
			out = binary.LittleEndian.AppendUint64(out, a)
		}
		out = binary.LittleEndian.AppendUint64(out, s.Else)
	}
	return out
}

func (p *Program) firstOffset() int { return int(p.base) + headerSize + p.data.Len() }

// Failure is a step that failed.
type Failure struct {
	Step  int    // its number, from 0
	What  string // as given to [Program.Call]
	Errno syscall.Errno
}

func (f *Failure) Error() string { return fmt.Sprintf("%s: %v", f.What, f.Errno) }

func (f *Failure) Unwrap() error { return f.Errno }

// Start starts a command as the stage. The command has what its process is given: its
// descriptors (standard input is required), environment, attributes, and arguments, all of
// them for the program. It must be new, and what it says of its path and directory does not
// count.
//
// The list is made by list, which is told the number of the descriptor on which the stage
// reports, a socket, and where the descriptors begin that are free. Forked is called as soon as
// there is a process; received, for each descriptor that the stage sends with [Program.Send],
// before Start returns.
//
// # Errors
//
// The system's, and a [*Failure] if a step failed. If forked was called, the process has to be ended and
// waited for. Before Linux 5.9, and where memory files may not be run, each start fails.
func Start(cmd *exec.Cmd, list func(report, free int) *Program, forked func(pid int), received func(fd int)) error {
	return start(cmd, list, forked, received)
}
