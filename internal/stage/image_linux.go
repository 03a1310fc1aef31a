//go:build linux && (amd64 || arm64)

package stage

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Where the parts of the stage are. The assembler knows, too. They are 64 KiB apart, the
// largest page, in memory and in the file.
const (
	codeBase   = 0x400000
	dataBase   = 0x500000
	codeOffset = 64 + 3*56 // after the headers
	dataOffset = 0x10000
	codeLength = 256 // at most
)

// stageText returns where the code begins.
func stageText() unsafe.Pointer

// image returns the stage as a program: an ELF file of code, and of memory that can be written.
// What is between the two is a hole.
func image(memory []byte) (head, data []byte) {
	var out bytes.Buffer
	size := uint64(len(memory))
	for _, part := range []any{
		elf.Header64{
			Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
			Type:  uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
			Entry: codeBase + codeOffset, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 3,
		},
		elf.Prog64{
			Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: codeBase, Paddr: codeBase,
			Filesz: codeOffset + codeLength, Memsz: codeOffset + codeLength, Align: dataOffset,
		},
		elf.Prog64{
			Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_W), Off: dataOffset, Vaddr: dataBase, Paddr: dataBase,
			Filesz: size, Memsz: size, Align: dataOffset,
		},
		elf.Prog64{Type: uint32(elf.PT_GNU_STACK), Flags: uint32(elf.PF_R | elf.PF_W), Align: 16},
		unsafe.Slice((*byte)(stageText()), codeLength), //nolint:gosec // our own code
	} {
		_ = binary.Write(&out, binary.LittleEndian, part) // a buffer takes it
	}
	return out.Bytes(), memory
}

// file returns a program in memory, which cannot be changed. While it is open for writing it cannot be
// run (ETXTBSY), so no process is forked meanwhile that would have a copy of the descriptor.
func file(head, data []byte) (*os.File, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("toolhost-stage", flags|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3 each memory file can be run
		fd, err = unix.MemfdCreate("toolhost-stage", flags)
	}
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "toolhost-stage")
	_, err = f.Write(head)
	if err == nil {
		_, err = f.WriteAt(data, dataOffset)
	}
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE|unix.F_SEAL_SEAL)
	}
	var held *os.File
	if err == nil { // one that is open for writing cannot be run
		held, err = os.Open("/proc/self/fd/" + strconv.Itoa(fd))
	}
	return held, errors.Join(err, f.Close())
}

// forFork is what the fork itself needs of descriptors.
const forFork = 8

// aboveAll gives a file a descriptor above those that the fork uses and the process
// inherits, and returns its path for the process.
func aboveAll(cmd *exec.Cmd, f *os.File) (held *os.File, path string, err error) {
	above := 3 + len(cmd.ExtraFiles)
	for _, used := range append([]*os.File{cmd.Stdin.(*os.File), cmd.Stdout.(*os.File), cmd.Stderr.(*os.File)}, cmd.ExtraFiles...) {
		above = max(above, int(used.Fd()))
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, above+forFork+len(cmd.ExtraFiles))
	if errors.Is(err, unix.EINVAL) { // the number is above the limit
		err = unix.EMFILE
	}
	if err != nil {
		return nil, "", os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), "/proc/self/fd/" + strconv.Itoa(fd), nil
}

func start(cmd *exec.Cmd, list func(report, free int) *Program, forked func(pid int), received func(fd int)) (err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "stage"), os.NewFile(uintptr(pair[1]), "stage")
	defer func() { _ = ours.Close() }()

	cmd.ExtraFiles = append(cmd.ExtraFiles, theirs)
	report := 2 + len(cmd.ExtraFiles)
	program := list(report, report+1)
	err = fork(cmd, program.memory(report))
	_ = theirs.Close()
	if err != nil {
		return err
	}
	forked(cmd.Process.Pid)
	return program.await(ours, received)
}

// fork starts the command as the stage.
func fork(cmd *exec.Cmd, memory []byte) error {
	code, err := file(image(memory))
	if err != nil {
		return err
	}
	defer func() { _ = code.Close() }()
	held, path, err := aboveAll(cmd, code)
	if err != nil {
		return err
	}
	defer func() { _ = held.Close() }()
	cmd.Path, cmd.Dir, cmd.Err = path, "", nil
	return cmd.Start()
}

// await returns when the stage has become the program, or has ended.
func (p *Program) await(from *os.File, received func(fd int)) error {
	message, control := make([]byte, 8), make([]byte, unix.CmsgSpace(4))
	for {
		n, c, flags, _, err := unix.Recvmsg(int(from.Fd()), message, control, unix.MSG_CMSG_CLOEXEC|unix.MSG_WAITALL)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return os.NewSyscallError("recvmsg", err)
		case flags&unix.MSG_CTRUNC != 0: // what was sent is lost
			return os.NewSyscallError("recvmsg", unix.EMFILE)
		case c > 0:
			messages, err := unix.ParseSocketControlMessage(control[:c])
			if err != nil || len(messages) == 0 {
				continue
			}
			fds, _ := unix.ParseUnixRights(&messages[0])
			for _, fd := range fds {
				received(fd)
			}
		case n == len(message):
			errno := -int32(binary.LittleEndian.Uint32(message)) //nolint:gosec // it is negative
			at := (int(binary.LittleEndian.Uint32(message[4:])) - p.firstOffset()) / stepSize
			return &Failure{Step: at, What: p.names[at], Errno: syscall.Errno(errno)}
		default:
			return nil // it has nothing to report
		}
	}
}

// Send adds the sending of a descriptor to who started the stage. It is 8 bytes with nothing
// in them, so that the receiver never has half a message.
func (p *Program) Send(report, fd int) {
	nothing := p.Struct(uint64(0))
	vector := p.Struct(uint64(nothing), uint64(8))
	control := p.Struct(uint64(unix.CmsgLen(4)), int32(unix.SOL_SOCKET), int32(unix.SCM_RIGHTS), int32(fd), int32(0)) //nolint:gosec // small
	head := p.Struct(uint64(0), uint64(0), uint64(vector), uint64(1), uint64(control), uint64(unix.CmsgSpace(4)), uint64(0))
	p.Call("hand a descriptor to the host", unix.SYS_SENDMSG, uintptr(report), head, 0)
}
