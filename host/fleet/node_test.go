package fleet_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A host of a test can be a process of its own, this binary with nodeVariable set.
const nodeVariable = "TOOLHOST_TEST_FLEET_NODE"

// nodeSpec is what such a process is told.
type nodeSpec struct {
	URL, KeyFile, Name, Ledger string
	Plugins                    string // a directory; empty: there are none
	Root                       string // where the plugins work
	Space                      string // a network namespace; empty: that of the test
	Server                     string // the address of a NATS server, which this process is then, and no host
}

func TestMain(m *testing.M) {
	if fleet.IsSimulated() {
		return
	}
	if text := os.Getenv(nodeVariable); text != "" {
		if err := runNode(text); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		return
	}
	if text := os.Getenv(benchVariable); text != "" {
		if err := serveBench(text); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// runNode shares two tools that write each call into the ledger, until its standard input ends.
func runNode(text string) error {
	var spec nodeSpec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		return err
	}
	key, err := fleet.KeyFile(spec.KeyFile)
	if err != nil {
		return err
	}
	if spec.Server != "" {
		return runServer(spec.Server, key)
	}
	ledger, err := os.OpenFile(spec.Ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	h, err := host.New(host.WithRoot(spec.Root))
	if err != nil {
		return err
	}
	ctx := context.Background()
	if spec.Plugins != "" {
		if _, err := h.Load(ctx, spec.Plugins); err != nil {
			return err
		}
	}
	run := func(_ context.Context, call tool.Call) (tool.Result, error) {
		_, err := fmt.Fprintln(ledger, call.ID)
		return tool.Text(spec.Name), err
	}
	for _, one := range []tool.Tool{
		handler("work.again", run, idempotent), handler("work.once", run), says("only."+spec.Name, spec.Name),
	} {
		if err := h.Register(one); err != nil {
			return err
		}
	}
	f, err := fleet.Join(ctx, h, fleet.Config{
		URL: spec.URL, Key: key, Name: spec.Name, Share: []string{"*"}, Options: []nats.Option{nats.DontRandomize()},
	})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = f.Close(ctx)
	return h.Close(ctx)
}

// runServer runs a NATS server until standard input ends.
func runServer(address string, key fleet.Key) error {
	s, err := server.NewServer(&server.Options{
		Host: address, Port: serverPort, NoLog: true, NoSigs: true, Nkeys: []*server.NkeyUser{{Nkey: key.Public()}},
	})
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(require.Ceiling) {
		return errors.New("the server does not accept connections")
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	s.Shutdown()
	return nil
}

// serverPort is the port of a server in a network namespace of its own.
const serverPort = 4222

// process is a host in a process of its own.
type process struct {
	*exec.Cmd
	ledger string
}

func (s *site) start(t testing.TB, keyFile, name string, change ...func(*nodeSpec)) *process {
	t.Helper()
	dir := t.TempDir()
	spec := nodeSpec{URL: s.URL(), KeyFile: keyFile, Name: name, Ledger: dir + "/ledger", Root: dir}
	for _, f := range change {
		f(&spec)
	}
	text := require.Must(json.Marshal(spec))(t)
	cmd := exec.Command(os.Args[0]) //nolint:gosec,noctx // this binary
	if spec.Space != "" {
		cmd = exec.Command("ip", "netns", "exec", spec.Space, os.Args[0]) //nolint:gosec,noctx // this binary
	}
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), nodeVariable+"="+string(text))
	stdin := require.Must(cmd.StdinPipe())(t)
	stdout := require.Must(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("host %s: %q %v", name, line, err)
	}
	return &process{cmd, spec.Ledger}
}

// entries returns how often each call is in the ledger.
func (p *process) entries(t testing.TB, into map[string]int) {
	t.Helper()
	text := require.Must(os.ReadFile(p.ledger))(t)
	for id := range strings.Lines(string(text)) {
		into[strings.TrimSpace(id)]++
	}
}

// state returns what a host is doing, as n sees it; empty: it is gone.
func (n *node) state(name string) fleet.HostState {
	for _, h := range n.Hosts() {
		if h.Name == name {
			return h.State
		}
	}
	return ""
}
