package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/execution/internal/tempdir"
)

// running counts the processes whose command line has a word.
func running(word string) (n int) {
	confine.Each(time.Now().Add(ceiling), func(p confine.Process) {
		if line := p.File("cmdline"); bytes.Contains(line, []byte(word)) && !bytes.Contains(line, []byte("execution.test")) {
			n++
		}
	})
	return n
}

// confined runs a form in the strongest confinement that there is, and then in the weakest. It is linked once.
func confined(t *testing.T, config, text string, ended func(t *testing.T, out result)) {
	t.Helper()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("no setsid here:", err)
	}
	path, r := linked(t, config, text)
	for name, namespaces := range map[string][]confine.Namespaces{"namespace": nil, "group": {confine.NoNamespace}} {
		t.Run(name, func(t *testing.T) {
			r.namespaces = namespaces
			ended(t, require.Must(r.run(t.Context(), path, t.TempDir()))(t))
		})
	}
}

// A program that forks again and again is ended with all that it started, whether
// or not it leaves its group. The bomb ends by itself at 255 processes and 45 s.
func TestForkBomb(t *testing.T) {
	t.Parallel()
	const word = "45.01"
	bomb := `f() { if [ $1 -gt 0 ]; then f $(($1-1)) & f $(($1-1)) & fi; exec setsid sleep ` + word + `; }; f 7`
	confined(t, `{"processes": 24}`, "exec.Command(\"sh\", \"-c\", `"+bomb+"`).Run()", func(t *testing.T, out result) {
		if out.kind != "processes" || !strings.Contains(out.message, "more than 24 processes") {
			t.Errorf("got %+v", out)
		}
		if n := running(word); n != 0 {
			t.Errorf("%d processes live on", n)
		}
	})
}

// A program cannot hide what it starts by what it leaves in its private directory, nor
// hold up the count. It ends by itself after a minute.
func TestNamespaceCannotBeForged(t *testing.T) {
	t.Parallel()
	const text = `dir := filepath.Dir(os.TempDir())
os.Remove(filepath.Join(dir, "space"))
syscall.Mkfifo(filepath.Join(dir, "space"), 0o600)
os.RemoveAll(filepath.Join(dir, "report"))
fmt.Println(syscall.Mkfifo(filepath.Join(dir, "report"), 0o600))
var c *exec.Cmd
for range 16 { c = exec.Command("sleep", "60"); c.Start() }
c.Wait()`
	confined(t, `{"processes": 8, "time": "20s"}`, text, func(t *testing.T, out result) {
		assert.Equalf(t, out.kind, "processes", "got %+v", out)
	})
}

// What a program leaves behind ends with it, even in its own session.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	const word = "46.01"
	const text = `fmt.Println(exec.Command("setsid", "sleep", "` + word + `").Start())
fmt.Println(exec.Command("sleep", "` + word + `").Start())`
	confined(t, "", text, func(t *testing.T, out result) {
		if n := running(word); n != 0 || out.stdout != "<nil>\n<nil>\n" {
			t.Errorf("%d processes live on: %+v", n, out)
		}
	})
}

// Memory is bounded for a program, and for all that it starts together. The form
// stops by itself at 1 GiB.
func TestMemory(t *testing.T) {
	links(t)
	t.Parallel()
	p := fresh(t, nil, `{"memory": 134217728}`)
	out := p.eval(t, "var all [][]byte\nfor range 64 {\n\tb := make([]byte, 16<<20)\n\tfor i := range b { b[i] = 1 }\n\tall = append(all, b)\n}\nlen(all)")
	if out.OK || out.Kind != "memory" && !strings.Contains(out.Message, "memory") {
		t.Errorf("got %s", out.Text())
	}
	p.is(t, "1", "1", "int")
}

// A program inherits no descriptor but the three, and writes no file without end.
func TestDescriptors(t *testing.T) {
	links(t)
	t.Parallel()
	p := sharedShop(t)
	out := p.must(t, "files, err := os.ReadDir(\"/proc/self/fd\")\nfor _, f := range files {\n\tto, _ := os.Readlink(\"/proc/self/fd/\" + f.Name())\n\tfmt.Println(to)\n}\nerr")
	for line := range strings.Lines(out.Stdout) {
		line = strings.TrimSpace(line)
		known := line == "" || line == os.DevNull || strings.HasPrefix(line, "pipe:") || strings.HasPrefix(line, "anon_inode:") ||
			strings.HasSuffix(line, "/fd") || strings.HasPrefix(line, "/sys/fs/cgroup/") || // the Go runtime reads its quota
			strings.Contains(line, tempdir.Prefix)
		if !known {
			t.Errorf("the program has %s", line)
		}
	}
	var own unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NPROC, &own))
	out = p.must(t, "var l syscall.Rlimit\nerr := syscall.Getrlimit(6, &l) // RLIMIT_NPROC\nfmt.Print(l.Max, err)")
	if want := fmt.Sprint(own.Cur-min(64, own.Cur/4)) + " <nil>"; own.Cur != unix.RLIM_INFINITY && out.Stdout != want {
		t.Errorf("the limit of processes: %s, want %s", out.Stdout, want)
	}
	out = p.must(t, "var l syscall.Rlimit\nerr := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l)\nfmt.Print(l.Max, err)")
	assert.Equalf(t, out.Stdout, "1073741824 <nil>", "the limit of files")
}

// A program has its own session, and so no terminal, whoever started the plugin.
func TestSession(t *testing.T) {
	t.Parallel()
	const text = "sid, _, err := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0)\nfmt.Print(int(sid) == os.Getpid(), err)"
	confined(t, "", text, func(t *testing.T, out result) {
		if !strings.HasPrefix(out.stdout, "true") {
			t.Errorf("it leads its session: %+v", out)
		}
	})
}

// A form starts nothing, connects to nothing, listens nowhere, and writes to its own directory
// alone, unless the operator lets it.
func TestBox(t *testing.T) {
	t.Parallel()
	if !canBox() {
		t.Skip("this system has no Landlock or no seccomp")
	}
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o600))
	const second = "second := func(_ any, err error) error { return err }\n"
	// In one program, since linking is what takes the time.
	attempts := []string{
		`exec.Command("true").Run()`,
		`exec.Command("/proc/self/exe").Run()`,
		`second(net.Dial("tcp", "127.0.0.1:1"))`,
		`second(net.Listen("tcp", "127.0.0.1:0"))`,
		`second(os.ReadFile("` + outside + `"))`,
		`os.WriteFile("` + outside + `", nil, 0o600)`,
		`os.WriteFile("made", nil, 0o600)`,
		`os.Remove("kept")`,
	}
	form := second
	for _, attempt := range attempts {
		form += "if err := " + attempt + "; !errors.Is(err, syscall.EPERM) && !errors.Is(err, syscall.EACCES) { fmt.Println(" +
			strconv.Quote(attempt) + ", err) }\n"
	}
	p := fresh(t, map[string]string{"kept": "kept"})
	form += `fmt.Println("all were tried")
		unset := second(os.ReadFile("/usr/share/zoneinfo/UTC"))
		if os.IsNotExist(unset) {
			unset = nil
		}
		fmt.Print(os.WriteFile(filepath.Join(os.TempDir(), "x"), nil, 0o600), second(os.ReadFile("kept")), unset)`
	if out := p.must(t, form); out.Stdout != "all were tried\n<nil> <nil> <nil>" {
		t.Errorf("what it is not kept from, and what it may do: %s", out.Text())
	}
	p = fresh(t, nil, `{"confine": false}`)
	if out := p.must(t, `fmt.Print(exec.Command("true").Run(), os.WriteFile("made", nil, 0o600))`); out.Stdout != "<nil> <nil>" {
		t.Errorf("not confined: %s", out.Text())
	}
}
