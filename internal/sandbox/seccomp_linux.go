//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"sync"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/stage"
)

// Offsets in struct seccomp_data (seccomp(2)).
const (
	dataNumber    = 0
	dataMachine   = 4
	dataArguments = 16
)

func argument(n int) uint32 { return uint32(dataArguments + 8*n) } //nolint:gosec // small

// cloneFlags are those of threads and processes in the namespaces that there are. CLONE_PARENT, which
// would make children of the host's, is not among them.
const cloneFlags = unix.CSIGNAL | unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_PIDFD |
	unix.CLONE_VFORK | unix.CLONE_THREAD | unix.CLONE_SYSVSEM | unix.CLONE_SETTLS | unix.CLONE_PARENT_SETTID | unix.CLONE_CHILD_CLEARTID |
	unix.CLONE_DETACHED | unix.CLONE_UNTRACED | unix.CLONE_CHILD_SETTID | unix.CLONE_IO

// filter says what a seccomp filter refuses.
type filter struct {
	open    bool // but for what no plugin may do, everything passes
	users   bool // user namespaces are the process's own, and bounded
	notify  bool // the host is told
	network bool // the network is the process's own, or it was granted
	connect bool // else no socket is connected
	exec    bool // else only execveat of the descriptor start
	anyExec bool // memory files can be run
	start   uint32
	apart   bool // other processes are out of reach
	changes bool // some files may be changed, or those that may not are out of reach
}

// answers of the filter.
type answer uint32

// assembler makes a filter of rules, each of which ends the filter or goes on.
type assembler struct {
	code    []bpf.Instruction
	refused answer
}

func (a *assembler) ret(v answer) { a.code = append(a.code, bpf.RetConstant{Val: uint32(v)}) }

// call applies then to one system call, which is loaded.
func (a *assembler) call(number uint32, then func()) {
	a.when(bpf.JumpIf{Cond: bpf.JumpEqual, Val: number}, then)
}

// when applies then under a condition on what is loaded.
func (a *assembler) when(condition bpf.JumpIf, then func()) {
	at := len(a.code)
	a.code = append(a.code, nil)
	then()
	condition.SkipFalse = uint8(len(a.code) - at - 1) //nolint:gosec // few
	a.code[at] = condition
}

// among ends with an answer if what is loaded is one of the values.
func (a *assembler) among(v answer, values ...uint32) {
	for _, value := range values {
		a.call(value, func() { a.ret(v) })
	}
}

// choose ends with the answer of the number that is loaded, or, if it has none, with another. It is a tree:
// when a filter is installed the kernel tries it with each number.
func (a *assembler) choose(answers map[uint32]answer, other answer) {
	type span struct {
		first uint32
		v     answer
	}
	spans := []span{{0, other}}
	begin := func(first uint32, v answer) {
		last := &spans[len(spans)-1]
		if last.first == first {
			last.v = v
		} else if last.v != v {
			spans = append(spans, span{first, v})
		}
	}
	for _, number := range slices.Sorted(maps.Keys(answers)) {
		begin(number, answers[number])
		begin(number+1, other)
	}
	var tree func(spans []span)
	tree = func(spans []span) {
		if len(spans) == 1 {
			a.ret(spans[0].v)
			return
		}
		half, at := len(spans)/2, len(a.code)
		jump := bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: spans[half].first}
		below := 2*half - 1 // instructions, if each condition of them can skip as much as it has to
		if below <= math.MaxUint8 {
			jump.SkipTrue = uint8(below)
			a.code = append(a.code, jump)
			tree(spans[:half])
		} else {
			jump.SkipFalse = 1
			a.code = append(a.code, jump, nil)
			tree(spans[:half])
			a.code[at+1] = bpf.Jump{Skip: uint32(len(a.code) - at - 2)} //nolint:gosec // few
		}
		tree(spans[half:])
	}
	tree(spans)
}

// load loads an argument, of which the lower half counts.
func (a *assembler) load(n int) { a.code = append(a.code, bpf.LoadAbsolute{Off: argument(n), Size: 4}) }

// unless ends with an answer, unless what is loaded is one of the values.
func (a *assembler) unless(v answer, values ...uint32) {
	for i, value := range values {
		a.code = append(a.code, bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipTrue: uint8(len(values) - i)}) //nolint:gosec // few
	}
	a.ret(v)
}

// refusal answers with an error.
func refusal(errno unix.Errno) answer { return answer(unix.SECCOMP_RET_ERRNO | uint32(errno)) }

const allowed = answer(unix.SECCOMP_RET_ALLOW)

// assemble returns the filter.
func (f filter) assemble() []bpf.Instruction {
	a := &assembler{refused: refusal(unix.EPERM)}
	if f.notify {
		a.refused = answer(unix.SECCOMP_RET_USER_NOTIF)
	}
	a.code = append(a.code, bpf.LoadAbsolute{Off: dataMachine, Size: 4})
	if f.open {
		for _, abi := range abis {
			a.when(bpf.JumpIf{Cond: bpf.JumpEqual, Val: abi.machine}, func() { f.addCommon(a, abi) })
		}
		a.ret(refusal(unix.ENOSYS))
		return a.code
	}
	a.unless(answer(unix.SECCOMP_RET_KILL_PROCESS), machine)
	a.code = append(a.code, bpf.LoadAbsolute{Off: dataNumber, Size: 4})
	passed := slices.Concat(allowedCalls, allowedHere, f.byArgument(a))
	told := slices.Concat(kernelCalls, kernelCallsHere)
	sort := func(passes bool, calls ...uint32) {
		if passes {
			passed = append(passed, calls...)
		} else {
			told = append(told, calls...)
		}
	}
	sort(f.changes, append(attributeCalls, attributeCallsHere...)...)
	sort(f.apart, sharedCalls...)
	sort(f.connect, unix.SYS_CONNECT)
	sort(f.exec, unix.SYS_EXECVE, unix.SYS_EXECVEAT)
	answers := map[uint32]answer{}
	for _, number := range told {
		answers[number] = a.refused
	}
	for _, number := range passed {
		answers[number] = allowed
	}
	a.choose(answers, refusal(unix.ENOSYS))
	return a.code
}

// byArgument adds what goes by arguments, and returns calls whose arguments do not count.
func (f filter) byArgument(a *assembler) (passed []uint32) {
	a.call(unix.SYS_FCNTL, a.fcntl)
	a.call(unix.SYS_IOCTL, func() { a.ioctl(f.changes) })
	a.call(unix.SYS_SECCOMP, a.seccomp)
	a.call(unix.SYS_SETRLIMIT, func() { a.brand(0) })
	a.call(unix.SYS_PRLIMIT64, func() {
		if !f.apart {
			a.load(0)
			a.unless(a.refused, 0)
		}
		a.brand(1)
	})
	a.call(unix.SYS_CLONE, func() { a.flags(^uint32(cloneFlags)) })
	a.call(unix.SYS_PERSONALITY, func() {
		a.load(0)
		a.unless(a.refused, 0, ^uint32(0)) // which asks
		a.ret(allowed)
	})
	f.addSockets(a)
	passed = f.addExec(a)
	for _, number := range slices.Sorted(maps.Keys(processCalls)) {
		if f.apart {
			passed = append(passed, number)
			continue
		}
		a.call(number, func() {
			if kind, ok := processKinds[number]; ok {
				a.load(0)
				a.unless(a.refused, kind)
			}
			a.load(processCalls[number])
			a.unless(a.refused, 0)
			a.ret(allowed)
		})
	}
	return passed
}

// addSockets refuses sockets but those of the process's own: Unix streams, and what the network
// allows. A datagram would reach others' sockets without connecting.
func (f filter) addSockets(a *assembler) {
	types, local := []uint32{unix.SOCK_STREAM}, []uint32{unix.SOCK_STREAM}
	if f.network {
		types = append(types, unix.SOCK_DGRAM)
	}
	if f.network && f.connect {
		local = append(local, unix.SOCK_DGRAM, unix.SOCK_SEQPACKET)
	}
	ofType := func(types ...uint32) {
		a.load(1)
		a.code = append(a.code, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xff})
		a.unless(a.refused, types...)
		a.ret(allowed)
	}
	a.call(unix.SYS_SOCKET, func() {
		a.load(0)
		families := []uint32{unix.AF_UNIX}
		if f.network {
			families = append(families, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK)
		}
		a.unless(a.refused, families...)
		if !f.network {
			ofType(unix.SOCK_STREAM)
			return
		}
		a.call(unix.AF_NETLINK, func() {
			a.load(2)
			a.unless(a.refused, unix.NETLINK_ROUTE)
			a.ret(allowed)
		})
		a.call(unix.AF_UNIX, func() { ofType(local...) })
		a.load(2) // MPTCP is TCP by another number
		a.unless(a.refused, 0, unix.IPPROTO_TCP, unix.IPPROTO_UDP)
		ofType(types...)
	})
	a.call(unix.SYS_SOCKETPAIR, func() {
		a.load(0)
		a.unless(a.refused, unix.AF_UNIX)
		ofType(local...)
	})
}

// addExec refuses to start programs, and returns calls that it lets pass. The one start that is allowed
// is of a descriptor whose number no other can ever have, as it is the limit of descriptors: after it,
// there is none.
func (f filter) addExec(a *assembler) (passed []uint32) {
	if f.anyExec {
		passed = append(passed, unix.SYS_MEMFD_CREATE)
	} else {
		a.call(unix.SYS_MEMFD_CREATE, func() {
			a.load(1)
			a.code = append(a.code, bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.MFD_NOEXEC_SEAL, SkipTrue: 1})
			a.ret(refusal(unix.ENOSYS))
			a.ret(allowed)
		})
	}
	if !f.exec {
		a.call(unix.SYS_EXECVEAT, func() {
			a.load(0)
			a.unless(a.refused, f.start)
			a.load(4)
			a.unless(a.refused, unix.AT_EMPTY_PATH)
			a.ret(allowed)
		})
	}
	return passed
}

// install adds the step that applies the filter, and hands its listener to the host.
func (f filter) install(p *stage.Program, report int) error {
	code, err := f.encoded()
	if err != nil {
		return err
	}
	flags := uintptr(0)
	if f.notify {
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
	}
	install(p, report, code, flags)
	return nil
}

// encodings are those of the filters that were used last: most plugins have one of a few.
var encodings struct {
	sync.Mutex
	of map[filter][]byte
}

const maxEncodings = 16

// encoded returns the filter as the kernel takes it.
func (f filter) encoded() ([]byte, error) {
	encodings.Lock()
	defer encodings.Unlock()
	if code, ok := encodings.of[f]; ok {
		return code, nil
	}
	code, err := encode(f.assemble())
	if err != nil {
		return nil, err
	}
	if len(encodings.of)%maxEncodings == 0 {
		encodings.of = map[filter][]byte{}
	}
	encodings.of[f] = code
	return code, nil
}

// instructionSize is the size of struct sock_filter (linux/filter.h).
const instructionSize = 8

// encode returns a filter as the kernel takes it.
func encode(filter []bpf.Instruction) ([]byte, error) {
	code, err := bpf.Assemble(filter)
	raw := make([]byte, 0, len(code)*instructionSize)
	for _, c := range code {
		raw = binary.LittleEndian.AppendUint16(raw, c.Op)
		raw = binary.LittleEndian.AppendUint32(append(raw, c.Jt, c.Jf), c.K)
	}
	return raw, err
}

// install applies a filter and, with a flag for it, hands its listener to the host.
func install(p *stage.Program, report int, code []byte, flags uintptr) {
	program := p.Struct(uint16(len(code)/instructionSize), uint16(0), uint32(0), uint64(p.Bytes(code))) //nolint:gosec // few
	const what = "filter its system calls"
	listener := p.Free()
	p.Call(what, unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, program)
	if flags&unix.SECCOMP_FILTER_FLAG_NEW_LISTENER != 0 {
		p.Send(report, listener)
		p.Call(what, unix.SYS_CLOSE, uintptr(listener))
	}
}
