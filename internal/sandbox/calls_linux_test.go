//go:build amd64

package sandbox

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

var update = flag.Bool("update", false, "write docs/reference/system-calls.md")

const callsPage = "../../docs/reference/system-calls.md"

// sorts are what becomes of a system call, by the list that it is in. The last has those of no list.
var sorts = []struct{ list, title string }{
	{"allowedCalls", "Allowed"},
	{"argumentCalls", "By their arguments: " +
		"socket families and types, flags of clone, and what a plugin was granted decide; leases (F_SETLEASE), typing into terminals (TIOCSTI), " +
		"filters with a listener of their own and another limit of file locks (RLIMIT_LOCKS) are refused"},
	{"attributeCalls", "Modes, owners, times and attributes of files: " +
		"allowed where the plugin may change files, or mounts keep those that it may not"},
	{"processCalls", "How processes run: allowed with a PID namespace, else for the caller itself"},
	{"sharedCalls", "Memory that processes of a user share: allowed with an IPC namespace"},
	{"kernelCalls", "Refused, and the operator is told (`plugins show`)"},
	{"", "As if the kernel did not have them (ENOSYS)"},
}

// listed returns the calls that a file of this package names, by the variable that has them.
func listed(t *testing.T, file string) map[string][]string {
	t.Helper()
	parsed := require.Must(parser.ParseFile(token.NewFileSet(), file, nil, 0))(t)
	out := map[string][]string{}
	for _, d := range parsed.Decls {
		general, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range general.Specs {
			v, ok := s.(*ast.ValueSpec)
			if !ok || len(v.Values) == 0 {
				continue
			}
			name := strings.Replace(v.Names[0].Name, "Here", "Calls", 1)
			name = strings.Replace(name, "CallsCalls", "Calls", 1)
			ast.Inspect(v.Values[0], func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && strings.HasPrefix(s.Sel.Name, "SYS_") {
					out[name] = append(out[name], s.Sel.Name)
				}
				return true
			})
		}
	}
	return out
}

// numbersOf returns the numbers of the system calls of an architecture.
func numbersOf(t *testing.T, arch string) map[string]uint32 {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "unix", "zsysnum_linux_"+arch+".go"))
	require.NoError(t, err)
	out := map[string]uint32{}
	for _, m := range regexp.MustCompile(`(?m)^\s+(SYS_\w+)\s+= (\d+)`).FindAllStringSubmatch(string(text), -1) {
		number := require.Must(strconv.ParseUint(m[2], 10, 32))(t)
		out[m[1]] = uint32(number)
	}
	return out
}

// sorted returns the calls of an architecture by their list.
func sorted(t *testing.T, arch string, all map[string]uint32) map[string][]string {
	t.Helper()
	lists, where := map[string][]string{}, map[string]string{}
	for _, file := range []string{"calls_linux.go", "seccomp_linux_" + arch + ".go"} {
		for list, names := range listed(t, file) {
			if !slices.ContainsFunc(sorts, func(s struct{ list, title string }) bool { return s.list == list }) {
				continue // numbers for another use
			}
			for _, name := range names {
				if _, ok := all[name]; !ok || where[name] != "" {
					t.Errorf("%s of %s is in %s and in %q, or there is no such call", name, arch, list, where[name])
				}
				where[name], lists[list] = list, append(lists[list], name)
			}
		}
	}
	for name := range all {
		if where[name] == "" {
			lists[""] = append(lists[""], name)
		}
	}
	return lists
}

func page(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# System calls of a plugin\n\n" +
		"`go test ./internal/sandbox -run TestCalls -update` (`make generate`) writes this page from the lists of\n" +
		"`internal/sandbox/calls_linux.go`, over all calls that golang.org/x/sys knows. It is what the filter of a\n" +
		"plugin does that declares what it needs, or has anything set under `sandbox`. A call that is in no list, as\n" +
		"all that later kernels bring, is closed.\n\n" +
		"The filter of a plugin that declares nothing lets pass all but leases on files, typing into terminals,\n" +
		"filters with a listener and another limit of file locks; and, where it has no user namespace of its own, making\n" +
		"one, with clone3.\n")
	for _, arch := range []string{"amd64", "arm64"} {
		lists := sorted(t, arch, numbersOf(t, arch))
		fmt.Fprintf(&b, "\n## %s\n", arch)
		for _, s := range sorts {
			fmt.Fprintf(&b, "\n**%s**\n\n", s.title)
			slices.Sort(lists[s.list])
			line := ""
			for _, name := range lists[s.list] {
				word := strings.ToLower(strings.TrimPrefix(name, "SYS_"))
				if len(line)+len(word) > 110 {
					fmt.Fprintln(&b, line)
					line = ""
				}
				line = strings.TrimSpace(line + " " + word)
			}
			fmt.Fprintln(&b, line)
		}
	}
	return b.String()
}

// Each system call is in one list, and the page says in which.
func TestCallsPage(t *testing.T) {
	t.Parallel()
	want := page(t)
	if *update {
		if err := os.WriteFile(callsPage, []byte(want), 0o644); err != nil { //nolint:gosec // for all to read
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(callsPage); err != nil || string(have) != want {
		t.Errorf("docs/reference/system-calls.md is not what the lists give: make generate (%v)", err)
	}
}

// machineCode runs a filter.
func machineCode(t *testing.T, f filter) func(machine, number uint32, args ...uint32) answer {
	t.Helper()
	vm := require.Must(bpf.NewVM(f.assemble()))(t)
	if raw, err := bpf.Assemble(f.assemble()); err != nil || len(raw) > 4096 {
		t.Fatalf("%d instructions: %v", len(raw), err)
	}
	return func(machine, number uint32, args ...uint32) answer {
		data := make([]byte, 64) // struct seccomp_data, in the order of bytes that bpf.VM reads
		binary.BigEndian.PutUint32(data[dataNumber:], number)
		binary.BigEndian.PutUint32(data[dataMachine:], machine)
		for i, arg := range args {
			binary.BigEndian.PutUint32(data[argument(i):], arg)
		}
		got := require.Must(vm.Run(data))(t)
		return answer(uint32(got)) //nolint:gosec // 32 bits
	}
}

// The filter does with each number what the page says, also with those that no kernel has yet.
func TestCallsAreFiltered(t *testing.T) {
	t.Parallel()
	all := numbersOf(t, "amd64")
	lists := sorted(t, "amd64", all)
	told, absent := answer(unix.SECCOMP_RET_USER_NOTIF), refusal(unix.ENOSYS)
	nothing := machineCode(t, filter{notify: true, start: 1023})
	apart := machineCode(t, filter{notify: true, start: 1023, apart: true, changes: true, connect: true})
	for _, s := range sorts {
		one, other := told, allowed // of a plugin that is granted nothing: bare, and with namespaces
		switch s.list {
		case "allowedCalls":
			one = allowed
		case "kernelCalls":
			other = told
		case "":
			one, other = absent, absent
		case "argumentCalls":
			continue
		}
		for _, name := range lists[s.list] {
			args := []uint32{1, 1, 1}
			assert.Equalf(t, nothing(machine, all[name], args...), one, "bare, %s", name)
			assert.Equalf(t, apart(machine, all[name], args...), other, "apart, %s", name)
		}
	}
	for _, number := range []uint32{500, 600, 1 << 30, 1<<30 | unix.SYS_READ, ^uint32(0)} {
		assert.Equalf(t, apart(machine, number), absent, "%d", number)
	}
	assert.Equalf(t, apart(unix.AUDIT_ARCH_I386, 3), unix.SECCOMP_RET_KILL_PROCESS, "i386")
}

// What no plugin may do is refused to each, in each way to make a call; all else passes if nothing is known
// of the plugin.
func TestCallsOfEveryPlugin(t *testing.T) {
	t.Parallel()
	const i386, x32 = unix.AUDIT_ARCH_I386, 1 << 30
	pass, deny, busy, absent := allowed, refusal(unix.EPERM), refusal(unix.EBUSY), refusal(unix.ENOSYS)
	type call struct {
		machine, number uint32
		args            []uint32
		bare, apart     answer // of an undeclared plugin: without namespaces, and in a user namespace
	}
	open, own := machineCode(t, filter{open: true}), machineCode(t, filter{open: true, users: true, apart: true})
	declared := machineCode(t, filter{network: true, connect: true, exec: true, anyExec: true, changes: true})
	for what, c := range map[string]call{
		"lease":             {machine, unix.SYS_FCNTL, []uint32{0, unix.F_SETLEASE}, deny, deny},
		"dnotify":           {machine, unix.SYS_FCNTL, []uint32{0, unix.F_NOTIFY}, deny, deny},
		"delegation":        {machine, unix.SYS_FCNTL, []uint32{0, 1024 + 16}, refusal(unix.EINVAL), refusal(unix.EINVAL)},
		"lease of i386":     {i386, 221, []uint32{0, unix.F_SETLEASE}, deny, deny},
		"old lease of i386": {i386, 55, []uint32{0, unix.F_SETLEASE}, deny, deny},
		"lease of x32":      {machine, x32 | unix.SYS_FCNTL, []uint32{0, unix.F_SETLEASE}, deny, deny},
		"lock":              {machine, unix.SYS_FCNTL, []uint32{0, unix.F_OFD_SETLK}, pass, pass},
		"typing":            {machine, unix.SYS_IOCTL, []uint32{0, unix.TIOCSTI}, deny, deny},
		"typing of x32":     {machine, x32 | 514, []uint32{0, unix.TIOCSTI}, deny, deny},
		"pasting":           {i386, 54, []uint32{0, unix.TIOCLINUX}, deny, deny},
		"window size":       {machine, unix.SYS_IOCTL, []uint32{0, unix.TIOCGWINSZ}, pass, pass},
		"listener":          {machine, unix.SYS_SECCOMP, []uint32{1, 8}, busy, busy},
		"listener of i386":  {i386, 354, []uint32{1, 8 | 1}, busy, busy},
		"filter":            {machine, unix.SYS_SECCOMP, []uint32{1, 1}, pass, pass},
		"brand":             {machine, unix.SYS_PRLIMIT64, []uint32{0, unix.RLIMIT_LOCKS, 1}, deny, deny},
		"old brand":         {machine, unix.SYS_SETRLIMIT, []uint32{unix.RLIMIT_LOCKS, 1}, deny, deny},
		"brand of i386":     {i386, 340, []uint32{0, unix.RLIMIT_LOCKS, 1}, deny, deny},
		"old brand of i386": {i386, 75, []uint32{unix.RLIMIT_LOCKS, 1}, deny, deny},
		"brand of x32":      {machine, x32 | unix.SYS_PRLIMIT64, []uint32{0, unix.RLIMIT_LOCKS, 1}, deny, deny},
		"asking for it":     {machine, unix.SYS_PRLIMIT64, []uint32{0, unix.RLIMIT_LOCKS, 0}, pass, pass},
		"another limit":     {machine, unix.SYS_PRLIMIT64, []uint32{0, unix.RLIMIT_NOFILE, 1}, pass, pass},
		"user namespace":    {machine, unix.SYS_UNSHARE, []uint32{unix.CLONE_NEWUSER}, deny, pass},
		"one by clone":      {machine, unix.SYS_CLONE, []uint32{unix.CLONE_NEWUSER | 17}, deny, pass},
		"one by clone3":     {machine, unix.SYS_CLONE3, nil, absent, pass},
		"one of i386":       {i386, 310, []uint32{unix.CLONE_NEWUSER}, deny, pass},
		"joining one":       {machine, unix.SYS_SETNS, nil, deny, pass},
		"a host's child":    {machine, unix.SYS_CLONE, []uint32{unix.CLONE_PARENT | 17}, deny, pass},
		"thread":            {machine, unix.SYS_CLONE, []uint32{0x3d0f00}, pass, pass},
		"fork of i386":      {i386, 2, nil, pass, pass},
		"another machine":   {unix.AUDIT_ARCH_MIPS, 1, nil, absent, absent},
	} {
		assert.Equalf(t, open(c.machine, c.number, c.args...), c.bare, "%s", what)
		assert.Equalf(t, own(c.machine, c.number, c.args...), c.apart, "%s in a user namespace", what)
		if got := declared(c.machine, c.number, c.args...); c.machine == machine && c.number < x32 && c.bare != pass && got == pass {
			t.Errorf("%s passes, of a plugin that declares what it needs", what)
		}
	}
}

// What goes by arguments, of a plugin that declares what it needs.
func TestCallsByArgument(t *testing.T) {
	t.Parallel()
	deny := refusal(unix.EPERM)
	bare, net := machineCode(t, filter{start: 1023}), machineCode(t, filter{network: true, connect: true, apart: true, changes: true, exec: true})
	var failed bytes.Buffer
	is := func(what string, got, want answer) {
		if got != want {
			fmt.Fprintf(&failed, "%s: %x, not %x\n", what, got, want)
		}
	}
	for what, family := range map[string]uint32{"IPv4": unix.AF_INET, "vsock": unix.AF_VSOCK, "TIPC": unix.AF_TIPC, "CAN": unix.AF_CAN, "RDS": unix.AF_RDS} {
		is("a pair of "+what, net(machine, unix.SYS_SOCKETPAIR, family, unix.SOCK_STREAM), deny)
		is("a socket of "+what, bare(machine, unix.SYS_SOCKET, family, unix.SOCK_STREAM), deny)
	}
	is("a pair", bare(machine, unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC), allowed)
	is("TCP", net(machine, unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP), allowed)
	is("own priority", bare(machine, unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 0, 19), allowed)
	is("the user's priority", bare(machine, unix.SYS_SETPRIORITY, unix.PRIO_USER, 0, 19), deny)
	is("the group's priority for disks", bare(machine, unix.SYS_IOPRIO_SET, 2, 0), deny)
	is("own priority for disks", bare(machine, unix.SYS_IOPRIO_SET, 1, 0), allowed)
	is("limits of another", bare(machine, unix.SYS_PRLIMIT64, 7, 0), deny)
	is("its own limits", bare(machine, unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, 1), allowed)
	is("limits of its children", net(machine, unix.SYS_PRLIMIT64, 7, unix.RLIMIT_NOFILE, 1), allowed)
	is("a time namespace", net(machine, unix.SYS_UNSHARE, unix.CLONE_NEWTIME), deny)
	is("a thread", bare(machine, unix.SYS_CLONE, 0x3d0f00), allowed)
	is("vfork", bare(machine, unix.SYS_CLONE, unix.CLONE_VM|unix.CLONE_VFORK|17), allowed)
	is("a traced child", bare(machine, unix.SYS_CLONE, unix.CLONE_PTRACE|17), deny)
	for what, request := range map[string]uint32{
		"a flag": unix.FS_IOC_SETFLAGS, "a version": 0x40087602, "a version of ext4": 0x40086604, "verity": unix.FS_IOC_ENABLE_VERITY,
		"encryption": unix.FS_IOC_SET_ENCRYPTION_POLICY, "a subvolume": 0x5000940e, "a clone": unix.FICLONE, "attributes of FAT": 0x40047211,
	} {
		is(what, bare(machine, unix.SYS_IOCTL, 3, request), deny)
		is(what+" where mounts decide", net(machine, unix.SYS_IOCTL, 3, request), allowed)
	}
	for what, request := range map[string]uint32{"flags": unix.FS_IOC_GETFLAGS, "extents": 0xc020660b, "a terminal": unix.TCGETS, "non-blocking": 0x5421, "a socket's queue": 0x8927} {
		is("asking for "+what, bare(machine, unix.SYS_IOCTL, 3, request), allowed)
	}
	is("starting itself", bare(machine, unix.SYS_EXECVEAT, 1023, 0, 0, 0, unix.AT_EMPTY_PATH), allowed)
	is("starting another", bare(machine, unix.SYS_EXECVEAT, 1022, 0, 0, 0, unix.AT_EMPTY_PATH), deny)
	is("starting a path", bare(machine, unix.SYS_EXECVE), deny)
	is("memory that can be run", bare(machine, unix.SYS_MEMFD_CREATE, 0, unix.MFD_CLOEXEC), refusal(unix.ENOSYS))
	is("a personality", bare(machine, unix.SYS_PERSONALITY, 0x40000), deny)
	if failed.Len() > 0 {
		t.Error(failed.String())
	}
}
