package pluginsdk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/internal/fixture"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/tooltest"
)

// The test binary is its own plugin, of the kind that this variable names.
const kindEnv = "PLUGINSDK_TEST_PLUGIN"

var kinds = map[string]func(){
	"fixture": func() { pluginsdk.Main(fixture.Tools()...) },
	"broken":  func() { pluginsdk.Main(tool.Tool{}) },
	"typed": func() {
		var configured settings
		pluginsdk.Plugin{
			Configuration: pluginsdk.Configuration(func(_ context.Context, _ pluginsdk.Config, s settings) error { configured = s; return nil }),
			Tools: []tool.Tool{pluginsdk.Func("region", "Shows the region.", func(context.Context, struct{}) (string, error) {
				return fmt.Sprint(configured.Region, " ", configured.Retries), nil
			})},
		}.Main()
	},
	"both": func() {
		pluginsdk.Plugin{
			Name: "both", ConfigSchema: tool.Schema(`{}`),
			Configuration: pluginsdk.Configuration(func(context.Context, pluginsdk.Config, settings) error { return nil }),
		}.Main()
	},
	"needy": func() {
		pluginsdk.Plugin{Name: "needy", Needs: &tool.Needs{Net: []string{"*:443"}}, Tools: fixture.Tools()}.Main()
	},
	"full": func() {
		var config pluginsdk.Config
		pluginsdk.Plugin{
			Name: "full", Version: "1.2.3",
			ConfigSchema: tool.Schema(`{"type":"object"}`),
			Needs:        &tool.Needs{Read: []string{tool.Workspace}, Net: []string{"API.example.com:443"}},
			Configure: func(_ context.Context, c pluginsdk.Config) error {
				if bytes.Contains(c.JSON, []byte("refuse")) {
					return errors.New("this configuration is refused")
				}
				config = c
				return nil
			},
			Tools: []tool.Tool{
				pluginsdk.Func("config", "Shows the configuration.", func(context.Context, struct{}) (string, error) {
					return config.Root + " " + string(config.JSON), nil
				}),
				pluginsdk.Func("print", "Prints.", func(context.Context, struct{}) (string, error) {
					fmt.Println("printed to stdout")
					fmt.Fprintln(os.Stderr, "printed to stderr")
					return "", nil
				}),
			},
		}.Main()
	},
}

func TestMain(m *testing.M) {
	if kind := kinds[os.Getenv(kindEnv)]; kind != nil {
		kind()
	}
	os.Exit(m.Run())
}

func command(t *testing.T, kind string) *exec.Cmd {
	t.Helper()
	self := require.Must(os.Executable())(t)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), kindEnv+"="+kind)
	return cmd
}

// process is a plugin's process as a tool.Provider. It uses go-plugin's own client, which
// suffices for a trusted plugin.
type process struct {
	*wire.Client
	plugin *plugin.Client
	stderr *watched
}

func start(t *testing.T, kind string) *process {
	t.Helper()
	p := &process{stderr: newWatched()}
	p.plugin = plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  wire.Handshake(),
		VersionedPlugins: wire.ClientPlugins(),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		Cmd:              command(t, kind),
		Stderr:           p.stderr,
		Logger:           hclog.NewNullLogger(),
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessage), grpc.MaxCallSendMsgSize(wire.MaxMessage)),
		},
	})
	t.Cleanup(p.plugin.Kill)
	protocol, err := p.plugin.Client()
	if err != nil {
		t.Fatalf("%v\n%s", err, p.stderr)
	}
	if p.Client, err = wire.Dispense(protocol); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *process) List(ctx context.Context) ([]tool.Definition, error) {
	d, err := p.Describe(ctx, "test")
	return d.Tools, err
}

func (p *process) Close(context.Context) error {
	p.plugin.Kill()
	return nil
}

// watched is a log whose lines a test can wait for.
type watched struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func newWatched() *watched { return &watched{changed: make(chan struct{}, 1)} }

func (w *watched) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default:
	}
	return w.text.Write(b)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func (w *watched) await(t *testing.T, text string) {
	t.Helper()
	limit := time.After(time.Minute)
	for !strings.Contains(w.String(), text) {
		select {
		case <-w.changed:
		case <-limit:
			t.Fatalf("%q is not in the log:\n%s", text, w)
		}
	}
}

func TestMainKeepsTheContract(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, func(t *testing.T) tool.Provider { return start(t, "fixture") })
}

func TestPluginDescribesItself(t *testing.T) {
	t.Parallel()
	got, err := start(t, "full").Describe(t.Context(), "test")
	require.NoError(t, err)
	if got.Name != "full" || got.Version != "1.2.3" || !strings.HasPrefix(got.SDK, "toolhost-go/") ||
		string(got.ConfigSchema) != `{"type":"object"}` {
		t.Errorf("%+v", got)
	}
	if want := "read workspace; net api.example.com:443"; got.Needs.String() != want {
		t.Errorf("its needs: %v, want %s", got.Needs, want)
	}
	byName := func(a, b tool.Definition) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(got.Tools, byName) || len(got.Tools) != 2 {
		t.Errorf("%+v", got.Tools)
	}
	if got, err = start(t, "fixture").Describe(t.Context(), "test"); err != nil || got.Name == "" || got.Needs != nil {
		t.Errorf("a plugin without a name reports %q, %v, %v", got.Name, got.Needs, err)
	}
}

func pluginsdkConfig(text string) wire.Config { return wire.Config{JSON: json.RawMessage(text)} }

func TestPluginIsConfigured(t *testing.T) {
	t.Parallel()
	p := start(t, "full")
	require.NoError(t, p.Configure(t.Context(), wire.Config{Root: "/srv/project", JSON: json.RawMessage(`{"a":1}`)}))
	r, err := p.Execute(t.Context(), tool.Call{Name: "config"})
	if err != nil || r.Text() != `/srv/project {"a":1}` {
		t.Errorf("%+v, %v", r, err)
	}
	err = p.Configure(t.Context(), wire.Config{JSON: json.RawMessage(`"refuse"`)})
	if tool.CodeOf(err) != tool.CodeToolFailed || !strings.Contains(err.Error(), "this configuration is refused") {
		t.Errorf("%v, want the plugin's refusal", err)
	}
	if err := start(t, "fixture").Configure(t.Context(), wire.Config{JSON: json.RawMessage(`{}`)}); err != nil {
		t.Errorf("a plugin without Configure: %v", err)
	}
}

func TestPluginMayPrint(t *testing.T) {
	t.Parallel()
	p := start(t, "full")
	require.Must(p.List(t.Context()))(t)
	require.Must(p.Execute(t.Context(), tool.Call{Name: "print"}))(t)
	p.stderr.await(t, "printed to stdout")
	p.stderr.await(t, "printed to stderr")
}

func TestPluginByHand(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"fixture": "not meant to be run by hand",
		"full":    "full: this is a toolhost plugin",
	} {
		cmd := command(t, kind)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(stderr.String(), want) || stdout.Len() > 0 {
			t.Errorf("%s: %v, stdout %q, stderr %q", kind, err, &stdout, &stderr)
		}
	}
}

// A plugin whose definitions or needs no host takes does not begin to serve.
func TestPluginWithABadDescription(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"broken": tool.ErrEmptyName.Error(), "both": "both: a plugin has either Configuration, or ConfigSchema and Configure", "needy": `needy: the declared needs are malformed: net "*:443": it is too wide`,
	} {
		cmd := command(t, kind)
		cmd.Env = append(cmd.Env, wire.CookieKey+"="+wire.CookieValue)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v: %s", kind, err, out)
		}
	}
}

// A plugin's process is recorded once, and answered for without it.
func TestRecordedPlugin(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "fixture.json")
	p := tooltest.Record(start(t, "fixture"), file)
	defs, err := p.List(t.Context())
	require.NoError(t, err)
	call := tool.Call{Name: fixture.EchoTool, Arguments: json.RawMessage(`{"n":1}`)}
	want := require.Must(p.Execute(t.Context(), call))(t)
	require.NoError(t, p.Close(t.Context()))
	if p, err = tooltest.Replay(file); err != nil {
		t.Fatal(err)
	}
	if again, err := p.List(t.Context()); err != nil || !reflect.DeepEqual(again, defs) {
		t.Errorf("the definitions: %+v, %v", again, err)
	}
	if got, err := p.Execute(t.Context(), call); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}
