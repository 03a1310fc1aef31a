package durable_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/internal/embedded"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// ceiling bounds what should take milliseconds, on a machine that is busy.
const ceiling = 60 * time.Second

func TestMain(m *testing.M) {
	if spec := os.Getenv("DURABLE_TEST_WORKER"); spec != "" {
		if err := workerProcess(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// site is a NATS server and the keys that may log in.
type site struct {
	t      testing.TB
	seeds  []string // files
	keys   []fleet.Key
	public []string
	config embedded.Config
	server *embedded.Server
	url    string // of servers elsewhere
}

func (s *site) URL() string {
	if s.url != "" {
		return s.url
	}
	return s.server.URL()
}

// newSite starts a server with JetStream, which n keys may log in to. The first may do everything there.
func newSite(t testing.TB, n int) *site {
	t.Helper()
	s := newKeys(t, n)
	s.config = embedded.Config{Keys: s.public[:1], Peers: s.public[1:], StoreDir: t.TempDir()}
	s.start()
	t.Cleanup(func() { _ = s.server.Close(context.Background()) })
	return s
}

// newKeys is a site with n keys and no server.
func newKeys(t testing.TB, n int) *site {
	t.Helper()
	s := &site{t: t}
	dir := t.TempDir()
	for i := range n {
		seed := filepath.Join(dir, fmt.Sprint(i))
		k := require.Must(fleet.KeyFile(seed))(t)
		s.seeds = append(s.seeds, seed)
		s.keys, s.public = append(s.keys, k), append(s.public, k.Public())
	}
	return s
}

func (s *site) start() {
	s.t.Helper()
	var err error
	if s.server, err = embedded.Start(s.config); err != nil {
		s.t.Fatal(err)
	}
	if _, port, ok := strings.Cut(strings.TrimPrefix(s.server.URL(), "nats://"), ":"); ok {
		_, _ = fmt.Sscan(port, &s.config.Port)
	}
}

// restart ends the server and starts it again on the same port and directory.
func (s *site) restart() {
	s.t.Helper()
	if err := s.server.Close(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.start()
}

func dial(url string, k fleet.Key) (*nats.Conn, error) {
	return nats.Connect(url, nats.Nkey(k.Public(), k.Sign), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond),
		nats.ReconnectJitter(0, 0))
}

func (s *site) dial(n int) *nats.Conn {
	s.t.Helper()
	nc, err := dial(s.URL(), s.keys[n])
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(nc.Close)
	return nc
}

// peers are the hosts with these keys, which may have all called, and are believed.
func (s *site) peers(ns ...int) func() map[string]durable.Peer {
	all := map[string]durable.Peer{}
	for _, n := range ns {
		all[s.public[n]] = durable.Peer{Name: fmt.Sprint("host-", n), Share: []string{"*"}, Mount: []string{"*"}}
	}
	return func() map[string]durable.Peer { return all }
}

// party is a host with durable calls.
type party struct {
	*durable.Calls
	host *host.Host
	nc   *nats.Conn
}

// join opens the calls of the n-th key, on a host with tools.
func (s *site) join(n int, tools []tool.Tool, change ...func(*durable.Config)) *party {
	s.t.Helper()
	h, err := host.New(host.WithRoot(s.t.TempDir()))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = h.Close(context.Background()) })
	for _, t := range tools {
		if err := h.Register(t); err != nil {
			s.t.Fatal(err)
		}
	}
	cfg := durable.Config{Conn: s.dial(n), Host: h, Key: s.keys[n], Name: fmt.Sprint("name-", n)}
	for _, f := range change {
		f(&cfg)
	}
	c, err := durable.Open(s.t.Context(), cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	p := &party{c, h, cfg.Conn}
	s.t.Cleanup(func() { p.end() })
	return p
}

// end closes the calls without mercy.
func (p *party) end() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = p.Close(ctx)
}

// remote has a host find tools as the others have them.
func remote(tools ...tool.Tool) func(*durable.Config) {
	return func(c *durable.Config) {
		h, err := host.New()
		if err != nil {
			panic(err)
		}
		for _, t := range tools {
			if err := h.Register(t); err != nil {
				panic(err)
			}
		}
		c.Find = func(name string) (durable.Target, error) {
			t, ok := h.Get(name)
			if !ok {
				return durable.Target{}, tool.Errorf(tool.CodeNotFound, "Unknown tool: %s", name)
			}
			return durable.Target{Tool: name, Digest: durable.Digest(t.Definition), Repeatable: t.Idempotent}, nil
		}
	}
}

func trusting(peers func() map[string]durable.Peer) func(*durable.Config) {
	return func(c *durable.Config) { c.Peers = peers }
}

// ledger counts the runs of calls by their text.
type ledger struct {
	mu   sync.Mutex
	runs map[string]int
	all  atomic.Int64
}

func (l *ledger) note(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs == nil {
		l.runs = map[string]int{}
	}
	l.runs[text]++
	l.all.Add(1)
}

func (l *ledger) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runs[text]
}

// noted is a tool that writes into a ledger, and then does f.
func noted(name string, l *ledger, idempotent bool, f func(context.Context, string) (tool.Result, error)) tool.Tool {
	return tool.Tool{
		Definition: tool.Definition{
			Name: name, Description: "Notes that it ran.", Safety: tool.Safe, Idempotent: idempotent,
			InputSchema: tool.Schema(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
		},
		Handler: func(ctx context.Context, call tool.Call) (tool.Result, error) {
			var in struct{ Text string }
			if err := json.Unmarshal(call.Arguments, &in); err != nil {
				return tool.Result{}, err
			}
			l.note(in.Text)
			if f != nil {
				return f(ctx, in.Text)
			}
			return tool.Text("did " + in.Text), nil
		},
	}
}

func args(text string) json.RawMessage {
	b, _ := json.Marshal(map[string]string{"text": text})
	return b
}

func (p *party) submit(t testing.TB, r durable.Request) string {
	t.Helper()
	id, err := p.Submit(t.Context(), r)
	if err != nil {
		t.Fatalf("Submit: %v", err)
	}
	return id
}

func (p *party) wait(t testing.TB, id string) durable.Call {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), ceiling)
	defer cancel()
	c, err := p.Wait(ctx, id)
	if err != nil {
		t.Fatalf("Wait: %v", err)
	}
	return c
}

// processSpec is what a worker process is told.
type processSpec struct {
	URL, Seed, Peer string
	Ledger          string // a file; each run appends a line
	Slow            bool
	Server          *embedded.Config // it is a server
	Calls           int              // it submits so many, and appends the ID and text of each that was accepted to Ledger
}

// workerProcess runs calls until it is killed, or the test ends.
func workerProcess(text string) error {
	var spec processSpec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		return err
	}
	if spec.Server != nil {
		if _, err := embedded.Start(*spec.Server); err != nil {
			return err
		}
		fmt.Println("ready")
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	}
	key, err := fleet.KeyFile(spec.Seed)
	if err != nil {
		return err
	}
	nc, err := dial(spec.URL, key)
	if err != nil {
		return err
	}
	h, err := host.New()
	if err != nil {
		return err
	}
	for _, t := range processTools(spec.Ledger, spec.Slow) {
		if err := h.Register(t); err != nil {
			return err
		}
	}
	ctx := context.Background()
	if spec.Calls > 0 {
		return callerProcess(ctx, &spec, nc, key, h)
	}
	_, err = durable.Open(ctx, durable.Config{
		Conn: nc, Host: h, Key: key, Name: fmt.Sprint("process-", os.Getpid()), Lapse: time.Second, Slots: 8,
		Peers: func() map[string]durable.Peer {
			return map[string]durable.Peer{spec.Peer: {Name: "caller", Share: []string{"*"}}}
		},
	})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// processTools are those of worker processes: once.add and many.add append their text to a file.
func processTools(path string, slow bool) []tool.Tool {
	note := func(ctx context.Context, text string) (tool.Result, error) {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			return tool.Result{}, err
		}
		if _, err := fmt.Fprintln(f, text); err != nil {
			return tool.Result{}, err
		}
		if err := f.Close(); err != nil {
			return tool.Result{}, err
		}
		if slow {
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}
		time.Sleep(10 * time.Millisecond) // so that it may be killed while it runs
		return tool.Text("did " + text), nil
	}
	return []tool.Tool{noted("once.add", new(ledger), false, note), noted("many.add", new(ledger), true, note)}
}
