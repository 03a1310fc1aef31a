package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/doctor"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/test/require"
	"golang.org/x/sys/unix"
)

// diagnosis is what doctor --json prints.
type diagnosis struct {
	Checks []doctor.Finding
	Error  *output.Failure
}

// ill is a fault of a world, and how doctor finds it.
type ill struct {
	cause func(t *testing.T, w *world)
	// after is done once the daemon of TestStatusFindsTheSame runs.
	after func(t *testing.T, w *world)
	// serving: status finds it too.
	serving bool
	// script causes the fault in namespaces of the command's own; $D is an empty directory.
	script string
	args   []string
	check  string
	result doctor.Result
	says   []string
	hint   string
}

var ills = map[string]ill{
	"directory that others may write to": {
		cause: func(t *testing.T, w *world) { chmod(t, w.plugins, 0o777) },
		check: "plugin directories", result: doctor.Failed, says: []string{"others may write", "mode -rwxrwxrwx"}, hint: "chmod go-w",
	},
	"file that others may write to": {
		cause: func(t *testing.T, w *world) {
			put(t, w.plugins, "open", "#!/bin/sh\n")
			chmod(t, w.plugins+"/open", 0o777)
		},
		check: "plugin files", result: doctor.Failed, says: []string{"others may write to it"}, hint: "chmod go-w",
	},
	"another architecture": {
		cause: func(t *testing.T, w *world) { put(t, w.plugins, "foreign", program(elf.EM_S390, 0)) },
		check: "plugin files", says: []string{"plugin foreign does not run", "another architecture (s390)"}, hint: "install the build for linux/",
	},
	"half a copy": {
		cause: func(t *testing.T, w *world) { put(t, w.plugins, "half", program(native(t), 1<<20)) },
		check: "plugin files", result: doctor.Failed, says: []string{"plugin half does not run", "half a copy"}, hint: "copy it again",
	},
	"not a program": {
		cause: func(t *testing.T, w *world) { put(t, w.plugins, "notes", "remember the milk") },
		check: "plugin files", result: doctor.Failed, says: []string{"plugin notes", "not a program"}, hint: "chmod -x",
	},
	"no interpreter": {
		cause: func(t *testing.T, w *world) { put(t, w.plugins, "script", "#!/nowhere/python\n") },
		check: "plugin files", result: doctor.Failed, says: []string{"/nowhere/python does not exist"}, hint: "install it",
	},
	"a cache that is a file": {
		cause: func(t *testing.T, w *world) {
			w.env = append(w.env, session.CacheVariable+"="+put(t, t.TempDir(), "file", ""))
		},
		check: "cache", result: doctor.Failed, says: []string{"is not a directory"}, hint: session.CacheVariable,
	},
	"a cache that others may write to": {
		cause: func(t *testing.T, w *world) {
			dir := t.TempDir()
			chmod(t, dir, 0o777)
			w.env = append(w.env, session.CacheVariable+"="+dir)
		},
		check: "cache", result: doctor.Failed, says: []string{"others may write to it"}, hint: "chmod go-w",
	},
	"a full disk": {
		script: `mount -t tmpfs -o size=64k none "$D" && ! cat /dev/zero >"$D/zero" 2>/dev/null && export XDG_STATE_HOME="$D"`,
		check:  "disk space", result: doctor.Failed, says: []string{"0 MiB free for state, the audit log"}, hint: "make space",
	},
	"no room for state": {
		script: `mount -t tmpfs -o size=64k none "$D" && mkdir -m 700 "$D/toolhost" && ! cat /dev/zero >"$D/zero" 2>/dev/null && export XDG_STATE_HOME="$D"`,
		check:  "audit log", result: doctor.Failed, says: []string{"no space left"}, hint: "make space",
	},
	"no directory for temporary files": {
		cause: func(_ *testing.T, w *world) { w.env = append(w.env, "TMPDIR=/nonexistent") },
		check: "temporary files", result: doctor.Failed, says: []string{"/nonexistent"}, hint: "set TMPDIR",
	},
	"noexec": {
		script: `mount -t tmpfs -o noexec,mode=700 none "$D" && cp "$P/player" "$D" && export TOOLHOST_PLUGIN_DIR="$D"`, args: []string{},
		check: "noexec", result: doctor.Failed, says: []string{"noexec"}, hint: "toolhost plugins lock",
	},
	"a path that is too long for a socket": {
		cause: func(_ *testing.T, w *world) {
			w.env = append(w.env, session.SocketVariable+"=/tmp/"+strings.Repeat("long/", 30)+"s")
		},
		check: "socket", result: doctor.Failed, says: []string{"bytes, and this system takes"}, hint: "--socket",
	},
	"a runtime directory that is not private": {
		cause: func(t *testing.T, w *world) { chmod(t, w.tmp, 0o777) },
		check: "socket", result: doctor.Failed, says: []string{"is not private (mode -rwxrwxrwx)"}, hint: "chmod 700",
	},
	"a file from the future": {
		cause: func(t *testing.T, w *world) {
			path := put(t, w.plugins, "early", "#!/bin/sh\n")
			require.NoError(t, os.Chtimes(path, time.Time{}, time.Now().Add(2*time.Hour)))
		},
		check: "clock", result: doctor.Failed, says: []string{"early is from the future, by "}, hint: "set the clock",
	},
	"too few descriptors": {
		script: `ulimit -n 24`,
		check:  "open files", result: doctor.Failed, says: []string{"may have 24 open files"}, hint: "ulimit -n",
	},
	"a broken configuration": {
		cause: func(_ *testing.T, w *world) { w.configure("plugin_dirs: 7") },
		check: "configuration", result: doctor.Failed, says: []string{"toolhost.yaml:1:14: plugin_dirs"}, hint: "toolhost config check",
	},
	"a variable that is not set": {
		cause: func(_ *testing.T, w *world) {
			w.configure("plugins:", "  player:", "    environment:", "      KEY: {from_env: NOT_SET_ANYWHERE}")
		},
		check: "configuration", result: doctor.Failed, says: []string{"NOT_SET_ANYWHERE"}, hint: "",
	},
	"a broken lock": {
		cause: func(t *testing.T, w *world) { w.configure("lock: required"); put(t, w.root, "toolhost.lock", "{") },
		check: "lock", result: doctor.Failed, says: []string{"toolhost.lock"}, hint: "toolhost plugins lock",
	},
	"a lock that is gone": {
		cause: func(_ *testing.T, w *world) { w.configure("lock: required") },
		check: "lock", result: doctor.Failed, says: []string{"is required and does not exist"}, hint: "restore it",
	},
	"no inotify instances": {
		script: `echo 0 >/proc/sys/user/max_inotify_instances`,
		check:  "inotify", result: doctor.Failed, says: []string{"no inotify instances left"}, hint: "max_user_instances",
	},
	"no inotify watches": {
		script: `echo 0 >/proc/sys/user/max_inotify_watches`,
		check:  "inotify", result: doctor.Failed, says: []string{"no inotify watches left"}, hint: "max_user_watches",
	},
	"no /proc": {
		script: `mount -t tmpfs none /proc`,
		check:  "/proc", result: doctor.Failed, says: []string{"/proc is not mounted"}, hint: "mount -t proc",
	},
	"no PID namespace": {
		script: `echo 0 >/proc/sys/user/max_pid_namespaces`,
		check:  "protections", result: doctor.Warning, says: []string{"PID namespace"}, hint: "docs/isolation.md",
	},
	"no namespaces for a sandbox": {
		script: `echo 0 >/proc/sys/user/max_pid_namespaces`,
		check:  "sandbox", result: doctor.Warning, says: []string{"this system lacks PID and IPC namespaces"}, hint: "user.max_user_namespaces",
	},
	"a sandbox that stays open in part": {
		cause:  func(_ *testing.T, w *world) { w.configure("plugins: {player: {sandbox: {net: ['a.example:443']}}}") },
		script: `echo 0 >/proc/sys/user/max_pid_namespaces`,
		check:  "sandbox", result: doctor.Warning, says: []string{"plugin player, net (a.example:443): "}, hint: "toolhost plugins show player",
	},
	"a strict sandbox that cannot be enforced": {
		cause: func(_ *testing.T, w *world) {
			w.configure("plugins: {player: {sandbox: {level: strict, net: ['a.example:443']}}}")
		},
		script: `echo 0 >/proc/sys/user/max_pid_namespaces`,
		check:  "sandbox", result: doctor.Failed, says: []string{"plugin player does not start: its sandbox is strict", "net a.example:443: "}, hint: "level: best-effort",
	},
	"a strict sandbox of a server that cannot be enforced": {
		cause: func(_ *testing.T, w *world) {
			w.configure("mcp_servers:", "  echo:", "    command: "+filepath.Join(built.dir, "mcpserver"), "    args: [echo]", "    sandbox: {level: strict, net: ['a.example:443']}")
		},
		script: `echo 0 >/proc/sys/user/max_pid_namespaces`,
		check:  "sandbox", result: doctor.Failed, says: []string{"plugin echo does not start: its sandbox is strict"}, hint: "level: best-effort",
	},
	"an audit log that cannot be written": {
		cause: func(t *testing.T, w *world) { w.env = append(w.env, session.AuditVariable+"="+t.TempDir()) },
		check: "audit log", result: doctor.Failed, says: []string{"calls cannot be recorded"}, hint: session.AuditVariable,
	},
	"a damaged list of disabled plugins": {
		cause: func(t *testing.T, w *world) {
			require.NoError(t, os.Mkdir(w.state+"/toolhost", 0o700))
			put(t, w.state+"/toolhost", "plugins.json", "{")
		},
		check: "state", result: doctor.Failed, says: []string{"plugins.json is damaged", "mend or remove it"},
	},
	"damaged names": {
		cause: func(t *testing.T, w *world) { damage(t, w.toolhostState()+"/plugins.json") },
		check: "state", result: doctor.Failed, says: []string{"plugins.json is damaged"}, serving: true,
	},
	"no workspace": {
		args:  []string{"--root", "/nonexistent"},
		check: "workspace", result: doctor.Failed, says: []string{"the workspace cannot be used", "/nonexistent"}, hint: "make it",
	},
	"damaged tokens": {
		cause: func(t *testing.T, w *world) { damage(t, w.toolhostState()+"/tokens.json") },
		check: "tokens", result: doctor.Failed, says: []string{"no token counts", "tokens.json is damaged"}, hint: "tokens new", serving: true,
	},
	"no certificate": {
		cause: func(t *testing.T, w *world) {
			w.configure("mcp: {tls: {cert: " + w.program() + ", key: " + w.program() + "}}")
		},
		after: func(t *testing.T, w *world) { require.NoError(t, os.Remove(w.program())) },
		check: "certificate", result: doctor.Failed, says: []string{"mcp.tls: ", "program cannot be opened"}, hint: "restore the files", serving: true,
	},
	"the port of the metrics is taken": {
		cause: func(t *testing.T, w *world) { w.configure("metrics: {address: \"" + taken(t) + "\"}") },
		check: "addresses", result: doctor.Failed, says: []string{"metrics.address", "address already in use"}, hint: "metrics.address",
	},
	"the port for MCP clients is taken": {
		cause: func(t *testing.T, w *world) { w.configure("mcp: {listen: \"" + taken(t) + "\"}") },
		check: "addresses", result: doctor.Failed, says: []string{"mcp.listen", "address already in use"}, hint: "mcp.listen",
	},
	"a program that a sandbox is to have": {
		cause: func(_ *testing.T, w *world) {
			w.configure("plugins: {player: {sandbox: {exec: [" + w.program() + "]}}}")
		},
		after: func(t *testing.T, w *world) { require.NoError(t, os.Remove(w.program())) },
		check: "configuration", result: doctor.Failed, says: []string{"plugins.player.sandbox.exec[0]: there is no "}, hint: "config check", serving: true,
	},
	"a token of a caller without a name": {
		cause: func(_ *testing.T, w *world) { w.run("tokens", "new", "stranger").exits(0) },
		check: "tokens", result: doctor.Warning, says: []string{"of the caller stranger", "does not name"}, hint: "tokens revoke", serving: true,
	},
	"an edited line of the audit log": {
		cause: func(_ *testing.T, w *world) {
			w.run("call", "play.echo").exits(0)
			w.run("call", "play.echo").exits(0)
			log := w.state + "/toolhost/audit.jsonl"
			text := require.Must(os.ReadFile(log))(w.t)
			require.NoError(w.t, os.WriteFile(log, bytes.Replace(text, []byte("play.echo"), []byte("play.fail"), 1), 0o600))
		},
		check: "audit log", result: doctor.Failed, says: []string{"it is not as it was written"}, hint: "toolhost audit verify", serving: true,
	},
	"damaged counts of rates": {
		cause: func(t *testing.T, w *world) { damage(t, w.toolhostState()+"/rates.json") },
		check: "state", result: doctor.Warning, says: []string{"rates.json is damaged"}, hint: "remove it", serving: true,
	},
	"a prohibition of a tool that does not exist": {
		cause: func(_ *testing.T, w *world) {
			w.run("tools").exits(0) // what it has is remembered
			w.configure("tools: {play.fial: {disable: true}}")
		},
		check: "configuration", result: doctor.Failed, says: []string{"there is no tool play.fial", "did you mean play.fail"}, hint: "correct it",
	},
	"a pattern of a caller that matches no tool": {
		cause: func(_ *testing.T, w *world) {
			w.run("tools").exits(0)
			w.configure("callers: {cli: {tools: {deny: [play.fial]}}}")
		},
		check: "configuration", result: doctor.Failed, says: []string{"no tool matches play.fial"}, hint: "correct it",
	},
	"a queue without a daemon": {
		cause: func(_ *testing.T, w *world) { w.configure("approvals: {ask: [queue]}") },
		check: "configuration", result: doctor.Warning, says: []string{"none is running"}, hint: "serve --detach",
	},
	"a daemon whose plugin was not upgraded": {
		cause: func(_ *testing.T, w *world) {
			w.serve()
			w.put("quitter", "player")
			w.until("it was tried", func() bool { return w.known("player").Upgrade != "" })
		},
		check: "daemon", result: doctor.Failed, says: []string{"plugin player was not upgraded", "exit status 3"}, hint: "toolhost plugins show player",
	},
	"a daemon with another root": {
		cause: func(t *testing.T, w *world) { w.serve("--root", t.TempDir()) },
		check: "daemon", result: doctor.Warning, says: []string{"do not use it: its root is "}, hint: "--root",
	},
	"a daemon whose plugin does not start": {
		cause: func(_ *testing.T, w *world) { w.install("quitter", "quitter"); w.serve() },
		check: "daemon", result: doctor.Failed, says: []string{"plugin quitter did not start"}, hint: "toolhost plugins show quitter",
	},
}

// Doctor finds each fault, says what to do, and exits with 1 if a check failed.
func TestDoctor(t *testing.T) {
	t.Parallel()
	for name, c := range ills {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "player")
			if c.cause != nil {
				c.cause(t, w)
			}
			if c.after != nil {
				c.after(t, w)
			}
			var d diagnosis
			args := []string{"doctor", "--json"}
			if args = append(args, c.args...); c.args == nil {
				args = append(args, "--plugin-dir", w.plugins)
			}
			o := w.sick(t, c.script, args...).json(&d)
			result := c.result
			for _, f := range d.Checks {
				if f.Check != c.check || f.Result == doctor.OK || !containsAll(f.Message, c.says) {
					continue
				}
				if f.Hint == "" && c.hint != "" || !strings.Contains(f.Hint, c.hint) {
					t.Errorf("the hint is %q, without %q", f.Hint, c.hint)
				}
				if result != "" {
					equal(t, "the result", f.Result, result)
				}
				status := map[doctor.Result]int{doctor.Failed: 1, doctor.Warning: 0}[f.Result]
				o.exits(status)
				equal(t, "whether there is an error", d.Error != nil, status != 0)
				return
			}
			t.Errorf("doctor does not find it: %s%s", o.stdout, o.stderr)
		})
	}
}

// damage damages a file of state while no process changes it: a daemon writes what it knows of its plugins after it is
// ready, and what it read before the damage would take the damage's place.
func damage(t *testing.T, path string) {
	t.Helper()
	lock, _, err := safefile.Open(path+".lock", os.O_RDWR|os.O_CREATE)
	require.NoError(t, err)
	defer func() { _ = lock.Close() }()
	require.NoError(t, safefile.Lock(lock, safefile.Exclusive, time.Now().Add(time.Minute)))
	put(t, filepath.Dir(path), filepath.Base(path), "{")
	require.NoError(t, safefile.Unlock(lock))
}

// While a daemon runs, status finds what doctor finds: a failure is a problem, and the daemon not well.
func TestStatusFindsTheSame(t *testing.T) {
	t.Parallel()
	for name, c := range ills {
		if !c.serving {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "player")
			if c.after == nil {
				w.serve()
				c.cause(t, w)
			} else {
				c.cause(t, w)
				w.serve()
				c.after(t, w)
			}
			var s daemonStatus
			list, status := &s.Problems, 1
			if c.result == doctor.Warning {
				list, status = &s.Warnings, 0
			}
			w.run("status", "--json").exits(status).json(&s)
			if !slices.ContainsFunc(*list, func(p string) bool { return containsAll(p, c.says) }) {
				t.Errorf("status does not find it: %+v", s)
			}
		})
	}
}

// Where nothing is wrong it says so, alone and with a daemon running.
func TestDoctorFindsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.run("doctor").exits(0).prints("ok       daemon: none is running on")
	w.serve()
	o := w.run("doctor").exits(0).prints("ok       plugin directories: ", "ok       state: ", "serves 17 tools of 1 plugin on")
	for line := range strings.Lines(o.stdout) {
		if strings.HasPrefix(line, "failed") {
			t.Errorf("it prints %s", line)
		}
	}
	equal(t, "standard error", o.stderr, "")

	// On a terminal it breaks lines between words; elsewhere a finding is one line, however long.
	person, program := newTerminal(t)
	require.NoError(t, unix.IoctlSetWinsize(int(person.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	cmd := w.command("doctor", "--plugin-dir", w.plugins)
	cmd.Stdout = program
	require.NoError(t, cmd.Start())
	_ = program.Close()
	seen, _ := io.ReadAll(person) // up to the end of the command, which is an error here
	require.NoError(t, cmd.Wait())
	for line := range strings.Lines(string(seen)) {
		const margin = len("warning  ")
		if line = strings.TrimRight(line, "\r\n"); len(line) > 80 && strings.Contains(line[margin:], " ") {
			t.Errorf("it shows %s", line)
		}
	}
	const long = "output is read at a bounded rate, sanitised, and never parsed by go-plugin"
	if !strings.Contains(o.stdout, long+"\n") || !strings.Contains(strings.Join(strings.Fields(string(seen)), " "), long) {
		t.Errorf("it shows\n%s\nand prints\n%s", seen, o.stdout)
	}
}

// It says what a plugin would get that does not run, and starts none for that, or what one has in
// a daemon.
func TestDoctorSandbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.run("doctor").exits(0).prints("sandbox: plugin player has not run, so what it", "read,")
	left, err := os.ReadDir(w.state)
	if err != nil || len(left) > 0 {
		t.Errorf("it leaves %v (%v)", left, err)
	}
	w.serve()
	w.run("doctor").exits(0).prints("sandbox: plugin player is undeclared: read, write, exec, net")
	w.configure("plugins: {player: {sandbox: {level: none}}}")
	w.run("reload").exits(0)
	w.run("doctor").exits(0).prints("sandbox: plugin player has no sandbox, as its level is none")
}

// sick runs the command after a script, in namespaces of its own if there is one.
func (w *world) sick(t *testing.T, script string, args ...string) outcome {
	t.Helper()
	if script == "" {
		return w.bare(args...)
	}
	c := w.command(args...)
	const noPlace = 99 // the exit status if the system gives no such place
	sh := "{ " + script + `; } >/dev/null 2>&1 || exit 99; exec "$0" "$@"`
	cmd := exec.CommandContext(t.Context(), "/bin/sh", append([]string{"-c", sh}, c.Args...)...)
	cmd.Dir, cmd.Env = c.Dir, slices.Concat(c.Env, []string{"D=" + t.TempDir(), "P=" + w.plugins})
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid: true, Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) || cmd.ProcessState.ExitCode() == noPlace {
		t.Skipf("this system gives a test no such place: %v", err)
	}
	return outcome{t, args, stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.Chmod(path, mode))
}

// put writes an executable file and returns its path.
func put(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o700)) //nolint:gosec // a program
	return path
}

// native is the architecture of this test.
func native(t *testing.T) elf.Machine {
	t.Helper()
	f := require.Must(elf.Open("/proc/self/exe"))(t)
	defer func() { _ = f.Close() }()
	return f.Machine
}

// program is an ELF file for a machine, with a segment of this size that it does not have.
func program(machine elf.Machine, segment uint64) string {
	var b bytes.Buffer
	for _, part := range []any{
		elf.Header64{
			Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
			Type:  uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT), Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1,
		},
		elf.Prog64{Type: uint32(elf.PT_LOAD), Filesz: segment, Memsz: segment},
	} {
		_ = binary.Write(&b, binary.LittleEndian, part) // a buffer takes it
	}
	return b.String()
}

func containsAll(text string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}

// toolhostState returns the directory for state, which exists.
func (w *world) toolhostState() string {
	w.t.Helper()
	dir := filepath.Join(w.state, "toolhost")
	require.NoError(w.t, os.MkdirAll(dir, 0o700))
	return dir
}

// program returns the path of a program that exists from the first time on.
func (w *world) program() string {
	w.t.Helper()
	path := filepath.Join(w.state, "program")
	if _, err := os.Stat(path); err != nil {
		put(w.t, w.state, "program", "#!/bin/sh\n")
	}
	return path
}

// taken returns an address that another program has.
func taken(t *testing.T) string {
	t.Helper()
	ln := require.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = ln.Close() })
	return ln.Addr().String()
}

// The doctor asks the daemon once how it is, and judges one state of it.
func TestDoctorAsksTheDaemonOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	path := filepath.Join(w.tmp, "between.sock")
	ln := require.Must(net.Listen("unix", path))(t) //nolint:noctx // of this test
	require.NoError(t, os.Chmod(path, 0o600))
	var asked atomic.Int32
	var passing sync.WaitGroup
	passing.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			asked.Add(1)
			passing.Go(func() {
				defer conn.Close()                      //nolint:errcheck // it is a test's
				to, err := net.Dial("unix", w.socket()) //nolint:noctx // of this machine
				if err != nil {
					return
				}
				go io.Copy(to, conn) //nolint:errcheck // until either ends
				_, _ = io.Copy(conn, to)
				_ = to.Close()
			})
		}
	})
	w.run("doctor", "--socket", path).prints("serves 0 tools of 0 plugins on "+path, "the daemon is in no fleet")
	require.NoError(t, ln.Close())
	passing.Wait()
	equal(t, "how often the daemon was asked", asked.Load(), 1)
}
