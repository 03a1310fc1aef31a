package pluginrun_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/cgroup"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// boxed is a plugin that declares that it needs nothing, and tries what it is told to.
const boxed plugintest.Mode = "boxed"

func init() {
	ownModes[boxed] = func() { pluginsdk.Plugin{Name: string(boxed), Tools: attempts(), Needs: &tool.Needs{}}.Main() }
}

type attempt struct {
	On string `json:"on"`
}

func attempts() []tool.Tool {
	try := func(name string, f func(on string) (string, error)) tool.Tool {
		return pluginsdk.Func("boxed."+name, "Tries.", func(_ context.Context, in attempt) (string, error) {
			out, err := f(in.On)
			if err != nil {
				return "", fmt.Errorf("%w", err)
			}
			return out, nil
		}, pluginsdk.Safe())
	}
	return []tool.Tool{
		try("read", func(on string) (string, error) {
			b, err := os.ReadFile(on)
			return string(b), err
		}),
		try("write", func(on string) (string, error) { return "", os.WriteFile(on, []byte("written"), 0o600) }),
		try("run", func(on string) (string, error) {
			b, err := exec.Command(on, "well").CombinedOutput()
			return string(b), err
		}),
		try("dial", func(on string) (string, error) {
			c, err := net.Dial("tcp", on)
			if err == nil {
				err = c.Close()
			}
			return "", err
		}),
		try("get", func(on string) (string, error) {
			client := http.Client{Transport: &http.Transport{Proxy: func(*http.Request) (*url.URL, error) {
				if at := os.Getenv("HTTP_PROXY"); at != "" { // also for loopback
					return url.Parse(at)
				}
				return nil, nil
			}}}
			res, err := client.Get(on)
			if err != nil {
				return "", err
			}
			defer func() { _ = res.Body.Close() }()
			b, err := io.ReadAll(res.Body)
			if res.StatusCode != http.StatusOK {
				err = errors.New(res.Status)
			}
			return string(b), err
		}),
		try("own", func(string) (string, error) { // a server of its own
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "mine") }))
			defer s.Close()
			res, err := http.Get(s.URL)
			if err != nil {
				return "", err
			}
			defer func() { _ = res.Body.Close() }()
			b, err := io.ReadAll(res.Body)
			return string(b), err
		}),
		try("leave", func(on string) (string, error) { // a script that has nothing of what it comes from
			cmd := exec.Command("/bin/sh", "-c", on)
			cmd.Env, cmd.SysProcAttr = []string{"PATH=/bin:/usr/bin:/sbin:/usr/sbin"}, &syscall.SysProcAttr{Setsid: true}
			return "", cmd.Start()
		}),
		try("send", send),
		try("environment", func(string) (string, error) { return strings.Join(os.Environ(), "\n"), nil }),
	}
}

// strictly needs a system that enforces everything.
func strictly(t *testing.T, s plugin.Sandbox) func(*pluginrun.Config) {
	t.Helper()
	if f := require.Must(sandbox.Detect())(t); !f.Mounts || !f.Network || !f.Proc || f.Landlock == 0 || !f.Notify {
		t.Skipf("this system does not enforce everything: %+v", f)
	}
	s.Level = plugin.Strict
	return func(c *pluginrun.Config) { c.Sandbox = s }
}

// try calls a tool, and returns its text, and whether it could do what it tried.
func try(t *testing.T, p *pluginrun.Plugin, name, on string) (string, bool) {
	t.Helper()
	res := call(t, p, "boxed."+name, fmt.Sprintf(`{"on": %q}`, on))
	return res.Text(), !res.IsError
}

// What a plugin does not need is impossible for it, and what it was granted is not.
func TestSandbox(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "reached") }))
	t.Cleanup(server.Close)
	address := server.Listener.Addr().String()
	root := t.TempDir()
	within := filepath.Join(root, "file")
	require.NoError(t, os.WriteFile(within, []byte("inside"), 0o600))
	for name, c := range map[string]struct {
		given plugin.Sandbox
		can   string
	}{
		"nothing":   {can: "own"},
		"workspace": {plugin.Sandbox{Write: []string{tool.Workspace}}, "own inside change"},
		"looks":     {plugin.Sandbox{Read: []string{tool.Workspace}}, "own inside"},
		"secret":    {plugin.Sandbox{Read: []string{secret}}, "own secret"},
		"host":      {plugin.Sandbox{Net: []string{address}}, "own get dial"},
		"network":   {plugin.Sandbox{Net: []string{tool.Any}}, "own get dial"},
		"echo":      {plugin.Sandbox{Exec: []string{"/bin/echo"}}, "own run"},
		"programs":  {plugin.Sandbox{Exec: []string{tool.Any}}, "own run other"},
		"reader":    {plugin.Sandbox{Read: []string{tool.Any}}, "own secret inside"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, boxed, strictly(t, c.given), func(cfg *pluginrun.Config) { cfg.Root = root })
			for what, on := range map[string][2]string{
				"secret": {"read", secret}, "inside": {"read", within}, "change": {"write", within + name}, "outside": {"write", secret + name},
				"run": {"run", "/bin/echo"}, "other": {"run", "/bin/ls"}, "dial": {"dial", address}, "get": {"get", server.URL}, "own": {"own", ""},
			} {
				out, done := try(t, p, on[0], on[1])
				if on[0] == "write" { // elsewhere it may be in its own /tmp
					_, err := os.Stat(on[1])
					done = err == nil
				}
				if what == "other" && strings.Contains(out, "exit status") { // it ran
					done = true
				}
				if want := strings.Contains(" "+c.can+" ", " "+what+" "); done != want {
					t.Errorf("%s: done %v, want %v: %s", what, done, want, out)
				}
			}
			if open := sandbox.Report(p.Sandbox().Lines).Open(); len(open) > 0 {
				t.Errorf("not enforced: %v", open)
			}
		})
	}
}

// What this system does not enforce in full is not started if it has to be. Otherwise it runs, and
// what stays open is told, before it runs and as it does.
func TestStrictSandbox(t *testing.T) {
	t.Parallel()
	for _, level := range []plugin.SandboxLevel{plugin.Strict, plugin.BestEffort} {
		p := open(t, boxed, func(c *pluginrun.Config) {
			c.Namespace = plugin.NamespaceOff // without which hosts cannot be told apart
			c.Sandbox = plugin.Sandbox{Level: level, Net: []string{"a.example:443"}}
		})
		before := p.Sandbox()
		if before.InForce || !slices.Contains(names(before.Open()), "net") {
			t.Errorf("%s, before: %+v", level, before)
		}
		err := p.Ready(t.Context())
		if level == plugin.Strict {
			if err == nil || !strings.Contains(err.Error(), "its sandbox is strict") || !strings.Contains(err.Error(), "net a.example:443: ") {
				t.Errorf("it starts: %v", err)
			}
			continue
		}
		require.NoError(t, err)
		if now := p.Sandbox(); !now.InForce || !slices.Contains(names(now.Open()), "net") {
			t.Errorf("%s, running: %+v", level, now)
		}
	}
}

func names(lines []plugin.SandboxLine) (out []string) {
	for _, l := range lines {
		out = append(out, l.Name)
	}
	return out
}

// The host is told what the kernel refused.
func TestSandboxTellsWhatItDenies(t *testing.T) {
	t.Parallel()
	p := open(t, boxed, strictly(t, plugin.Sandbox{Net: []string{"example.com:443"}}))
	_, _ = try(t, p, "run", "/bin/echo")
	_, _ = try(t, p, "run", "/bin/echo")
	_, _ = try(t, p, "get", "http://192.0.2.1:80/")
	got := map[string]int64{}
	for _, d := range p.Sandbox().Denied {
		got[d.What] = d.Count
	}
	if got["exec"] != 2 || got["net: 192.0.2.1:80"] != 1 {
		t.Errorf("got %v", got)
	}
}

// A process sees the variables that were named, and no others.
func TestSandboxEnvironment(t *testing.T) {
	t.Setenv("SECRET_OF_THE_HOST", "seen")
	t.Setenv("NAMED", "named")
	p := open(t, boxed, func(c *pluginrun.Config) { c.Sandbox.Env = []string{"NAMED"} })
	out, _ := try(t, p, "environment", "")
	if !strings.Contains(out, "NAMED=named") || strings.Contains(out, "SECRET_OF") || strings.Contains(out, "\nHOME=") {
		t.Errorf("got %s", out)
	}
}

// A start that fails leaves no control group.
func TestFailedStartLeavesNoGroup(t *testing.T) {
	t.Parallel()
	if _, err := cgroup.Find().By(cgroup.PIDs); err != nil {
		t.Skip(err)
	}
	const mode = boxed + "-without-workspace"
	p := open(t, mode, func(c *pluginrun.Config) {
		c.Root = filepath.Join(t.TempDir(), "missing")
		c.Sandbox.PIDs = 64
	})
	if _, err := p.Tools(t.Context()); err == nil {
		t.Fatal("it has started")
	}
	require.NoError(t, filepath.WalkDir("/sys/fs/cgroup", func(path string, _ fs.DirEntry, _ error) error {
		if strings.HasSuffix(path, "-"+string(mode)) {
			t.Errorf("%s is left", path)
		}
		return nil
	}))
}
