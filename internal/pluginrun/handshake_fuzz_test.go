package pluginrun

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// printer is a plugin that only prints. In what it prints, DIR is the directory for
// its socket.
type printer struct {
	*goRunner
	prints []byte
	read   chan struct{} // closed when all of it was read
}

// Start implements [runner.Runner].
func (r *printer) Start(context.Context) error {
	r.output.limit.end() // nothing waits for a rate
	go func() {
		defer close(r.read)
		r.output.readStdout(bytes.NewReader(bytes.ReplaceAll(r.prints, []byte("DIR"), []byte(r.grpc.path))))
	}()
	return nil
}

// Kill implements [runner.Runner].
func (r *printer) Kill(context.Context) error {
	r.finish(&plugin.ExitError{}, time.Now())
	return nil
}

// PluginToHost implements [runner.Runner]. It connects to nothing: nothing listens.
func (r *printer) PluginToHost(network, address string) (string, string, error) {
	address, err := r.grpc.checkAddress(network, address)
	if err != nil {
		r.refuse(err)
	}
	return network, address, err
}

// furnish puts into a socket directory what a plugin may announce: its socket, a file, and
// links to a socket elsewhere and to a directory next to that.
func furnish(t *testing.T, dir string) {
	t.Helper()
	elsewhere := filepath.Join(filepath.Dir(dir), "e")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(elsewhere, "sub"), 0o700),
		os.WriteFile(filepath.Join(dir, "file"), nil, 0o600),
		os.Symlink(filepath.Join(elsewhere, "plugin"), filepath.Join(dir, "link")),
		os.Symlink(filepath.Join(elsewhere, "sub"), filepath.Join(dir, "way")),
	} {
		require.NoError(t, err)
	}
	for _, d := range []string{dir, elsewhere} {
		l := require.Must(net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(d, "plugin"), Net: "unix"}))(t)
		l.SetUnlinkOnClose(false)
		require.NoError(t, l.Close())
	}
}

// shortDir is a directory in whose path sockets have room.
func shortDir(t *testing.T) string {
	t.Helper()
	dir := require.Must(os.MkdirTemp("/tmp", "fuzz-"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// FuzzHandshake: whatever a plugin prints, go-plugin's client does not panic on what
// it is shown of it, and would dial nothing but the socket in the directory that was
// made for it. Or else the author is told why, in words that are fit to be shown.
func FuzzHandshake(f *testing.F) {
	for _, line := range []string{
		"1|1|unix|DIR/plugin|grpc\n", "1|1|unix|DIR/plugin|grpc|\n", "1|1|unix|DIR/plugin|grpc||true\n",
		"1|1|unix|DIR/plugin|grpc|" + strings.Repeat("A", 60) + "\n", // where a certificate would stand
		"1|1|unix|DIR/plugin|netrpc\n", "1|1|unix|DIR/plugin\n", "1|1|unix|DIR/plugin|grpc",
		"1|1|unix|DIR/link|grpc\n", "1|1|unix|DIR/file|grpc\n", "1|1|unix|DIR/none|grpc\n", "1|1|unix|DIR|grpc\n",
		"1|1|unix|DIR/way/../plugin|grpc\n", "1|1|unix|DIR/../e/plugin|grpc\n", "1|1|unix|DIR//./plugin|grpc\n", "1|1|unix|DIR/plugin/|grpc\n",
		"1|1|unix|DIR/plugin\x00|grpc\n", "1|1|unix|@plugin|grpc\n", "1|1|unix||grpc\n",
		"1|1|tcp|127.0.0.1:1|grpc\n", "1|1|\x1b[2J|DIR/plugin|grpc\n", "99|1|unix|DIR/plugin|grpc\n", "1|99|unix|DIR/plugin|grpc\n",
		"+1|01|unix|DIR/plugin|grpc\n", " 1|1|unix|DIR/plugin|grpc \r\n", "1|-1|unix|DIR/plugin|grpc\n", "1|99999999999999999999|unix|x|grpc\n",
		"", "\n", "|", "||||\n", "hello \x1b[31m\u202e\xff\n1|1|unix|DIR/plugin|grpc\n", "1|1|unix|DIR/plugin|grpc\n1|1|unix|DIR/link|grpc\n",
		strings.Repeat("x", maxHandshake+1) + "\n", "1|1|unix|DIR/" + strings.Repeat("x", 200) + "|grpc\n",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, prints []byte) {
		p, _ := noted()
		shown := make(chan string, 1)
		go func() {
			all, _ := io.ReadAll(p.output.forGo)
			shown <- string(all)
		}()
		p.output.readStdout(bytes.NewReader(prints))
		p.finish(&plugin.ExitError{}, time.Now())
		line := <-shown
		if line == "" {
			refused(t, p)
			return
		}
		if strings.Index(line, "\n") != len(line)-1 || strings.Count(line, "|") != 4 {
			t.Fatalf("go-plugin is shown %q", line)
		}
		addr, p := shake(t, prints)
		if addr == nil {
			refused(t, p)
			return
		}
		if refusal := p.refusal(); refusal != nil || addr.Network() != "unix" || addr.String() != filepath.Join(p.grpc.path, "plugin") {
			t.Fatalf("it leads to %v, and is refused with: %v", addr, refusal)
		}
	})
}

// shake lets go-plugin's client shake hands, and returns what it would dial; nil:
// nothing.
func shake(t *testing.T, prints []byte) (net.Addr, *process) {
	t.Helper()
	cfg := Config{TempDir: shortDir(t), Logger: hclog.NewNullLogger()}.withDefaults()
	p := newProcess(plugin.Candidate{Name: "p", Path: "p"}, cfg)
	r := &printer{prints: prints, read: make(chan struct{})}
	config := clientConfig(p, cfg)
	config.RunnerFunc = func(_ hclog.Logger, cmd *exec.Cmd, dir string) (runner.Runner, error) {
		furnish(t, dir)
		if err := p.grpc.openDir(dir); err != nil {
			return nil, err
		}
		r.goRunner = &goRunner{process: p, env: cmd.Env}
		return r, nil
	}
	addr, err := goplugin.NewClient(config).Start()
	p.finish(&plugin.ExitError{}, time.Now()) // it ends with that
	<-r.read
	if err != nil {
		addr = nil
	}
	return addr, p
}

// refused looks at what the author is told.
func refused(t *testing.T, p *process) {
	t.Helper()
	refusal := p.refusal()
	if refusal == nil || !fit(refusal.Error(), 800) {
		t.Fatalf("it is refused with %q", refusal)
	}
	var e *tool.Error
	err := startError(t.Context(), p, refusal, 0)
	if !errors.As(err, &e) || e.Code != tool.CodeUnavailable || !fit(e.Message, 1100) {
		t.Fatalf("the start ends with %#v", e)
	}
}
