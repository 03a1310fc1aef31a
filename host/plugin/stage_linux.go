//go:build linux && (amd64 || arm64)

package plugin

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Each plugin begins as the stage, a program of some forty instructions that becomes the
// plugin.
//
// A process that Go forks shares the host's memory until it runs a program, and the
// thread that forks waits for that (CLONE_VFORK) in a way that the Go runtime takes for
// work: the next garbage collection waits for the thread, and with it the whole host.
// So nothing may be done in between that can take long: entering the root, opening the
// binary, its interpreter or loader, and closing descriptors may all have to wait for a
// file system that does not answer, and opening also for another process that has a
// lease on the file (fcntl(2), F_SETLEASE).
//
// The stage is in memory, so that it is run at once, and does all of that. It may hang as
// long as it likes, alone, with a process number by which it is killed. What it costs is
// one more execve of a page: see BenchmarkBegin.
type stage struct {
	report *os.File // on which it reports a failure, in 8 bytes, see stageReport
}

// stageOrder is what the stage is told in addition to its arguments, which are the root, the
// path to run, and the arguments of that program.
type stageOrder struct {
	limit unix.Rlimit // of processes
	keep  uint32      // descriptors below this one stay open; the report goes to it
	_     uint32
}

// Where the parts of the stage are: after its headers. The assembler knows, too.
const (
	stageBase   = 0x400000
	stageOrders = 64 + 2*56
	stageCode   = stageOrders + 24
	stageLength = 256 // of the code, at most
)

// The steps of the stage, for its report.
const (
	stageCloses = 1 + iota
	stageEnters
	stageLimits
	stageRuns
)

type stageReport struct {
	Errno int32 // negative
	Step  uint32
}

// errNoStage is the cause if a process has to be started without the stage: before Linux
// 5.11, or if memory files may not be run.
var errNoStage = errors.New("the stage cannot be used")

// stageText returns where the code begins.
func stageText() unsafe.Pointer

// image returns the stage as a program: an ELF file of one segment.
func (o stageOrder) image() []byte {
	const size = stageCode + stageLength
	var out bytes.Buffer
	for _, part := range []any{
		elf.Header64{
			Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
			Type:  uint16(elf.ET_EXEC), Machine: uint16(stageMachine), Version: uint32(elf.EV_CURRENT),
			Entry: stageBase + stageCode, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 2,
		},
		elf.Prog64{
			Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: stageBase, Paddr: stageBase,
			Filesz: size, Memsz: size, Align: 1 << 16,
		},
		elf.Prog64{Type: uint32(elf.PT_GNU_STACK), Flags: uint32(elf.PF_R | elf.PF_W), Align: 16},
		o.limit.Cur, o.limit.Max, uint64(o.keep),
		unsafe.Slice((*byte)(stageText()), stageLength), //nolint:gosec // our own code
	} {
		_ = binary.Write(&out, binary.LittleEndian, part) // a buffer takes it
	}
	return out.Bytes()
}

// throughStage makes a command begin as the stage. Done, to be called when the command was
// started, releases what that needs.
func throughStage(cmd *exec.Cmd, copied *pinnedCopy) (s *stage, done func(), err error) {
	var open []io.Closer
	release := func() {
		for _, c := range open {
			_ = c.Close()
		}
	}
	defer func() {
		if err != nil {
			release()
			err = fmt.Errorf("%w: %w", errNoStage, err)
		}
	}()
	keep := 3 + len(cmd.ExtraFiles)
	report, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	open = append(open, w)
	if cmd.Stdin == nil {
		stdin, err := os.Open(os.DevNull)
		if err != nil {
			return nil, nil, errors.Join(err, report.Close())
		}
		open = append(open, stdin)
		cmd.Stdin = stdin
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, w)

	program, err := memoryProgram(stageOrder{limit: processLimit(), keep: uint32(keep)}.image())
	if err != nil {
		return nil, nil, errors.Join(err, report.Close())
	}
	open = append(open, program)
	path, args := cmd.Path, cmd.Args
	if copied != nil {
		path = copied.file.Path()
		if memory := copied.file.Descriptor(); memory != nil { // the stage inherits it, and does not hand it on
			cmd.ExtraFiles = append(cmd.ExtraFiles, memory)
			path = "/proc/self/fd/" + strconv.Itoa(2+len(cmd.ExtraFiles))
		}
	}
	held, at, err := aboveAll(cmd, program)
	if err != nil {
		return nil, nil, errors.Join(err, report.Close())
	}
	open = append(open, held)
	dir := cmd.Dir
	if dir == "" {
		dir = "."
	}
	cmd.Path, cmd.Args, cmd.Dir = at, append([]string{dir, path}, args...), ""
	return &stage{report}, release, nil
}

// aboveAll gives a file a descriptor above those that the fork uses and the process
// inherits, and returns its path for the process.
func aboveAll(cmd *exec.Cmd, f *os.File) (held *os.File, path string, err error) {
	above := 3 + len(cmd.ExtraFiles)
	for _, used := range append([]*os.File{cmd.Stdin.(*os.File), cmd.Stdout.(*os.File), cmd.Stderr.(*os.File)}, cmd.ExtraFiles...) {
		above = max(above, int(used.Fd()))
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, above+forFork+len(cmd.ExtraFiles))
	if err != nil {
		return nil, "", os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), "/proc/self/fd/" + strconv.Itoa(fd), nil
}

// passed returns when the stage has become the program, or has ended.
func (s *stage) passed() error {
	defer func() { _ = s.report.Close() }()
	var r stageReport
	if err := binary.Read(s.report, binary.LittleEndian, &r); err != nil {
		return nil // it has nothing to report
	}
	errno := syscall.Errno(-r.Errno)
	switch r.Step {
	case stageCloses:
		return fmt.Errorf("%w: close_range: %w", errNoStage, errno)
	case stageEnters:
		return &startFailure{"the workspace cannot be entered: " + errno.Error(), errno}
	case stageLimits:
		return &startFailure{"the plugin's processes cannot be limited: " + errno.Error(), errno}
	}
	return errno
}

func (s *stage) close() error { return s.report.Close() }

// memoryProgram returns a program in memory, which cannot be changed.
func memoryProgram(content []byte) (*os.File, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("toolhost-stage", flags|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3 each memory file can be run
		fd, err = unix.MemfdCreate("toolhost-stage", flags)
	}
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "toolhost-stage")
	_, err = f.Write(content)
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE|unix.F_SEAL_SEAL)
	}
	var held *os.File
	if err == nil { // one that is open for writing cannot be run
		held, err = os.Open("/proc/self/fd/" + strconv.Itoa(fd))
	}
	return held, errors.Join(err, f.Close())
}
