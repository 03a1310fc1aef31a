package fleet_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const (
	benchSize    = 1 << 10 // bytes each way
	benchCalls   = 4000
	benchCallers = 64
	benchTools   = 1000
)

var benchText = strings.Repeat("x", benchSize)

// benchVariable has this binary be the other process of benchmarkCall: the URL of the server, and the file of the key.
const benchVariable = "TOOLHOST_TEST_FLEET_BENCH"

// serveBench shares a tool, and answers bare requests, until its standard input ends.
func serveBench(text string) error {
	url, keyFile, _ := strings.Cut(text, " ")
	key, err := fleet.KeyFile(keyFile)
	if err != nil {
		return err
	}
	nc, err := nats.Connect(url, nats.Nkey(key.Public(), key.Sign))
	if err != nil {
		return err
	}
	if _, err = nc.Subscribe("bench.echo", func(m *nats.Msg) { _ = m.Respond(m.Data) }); err != nil {
		return err
	}
	h, err := host.New()
	if err != nil {
		return err
	}
	if _, err = nc.Subscribe("bench.floor", func(m *nats.Msg) {
		if sealed, err := answerFloor(h, m.Data); err == nil {
			_ = m.Respond(sealed)
		}
	}); err != nil {
		return err
	}
	err = errors.Join(nc.Flush(), h.Register(handler("echo", func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Text(benchText), nil
	}, benchSchema)))
	if err == nil {
		_, err = fleet.Join(context.Background(), h, fleet.Config{URL: url, Key: key, Name: "b", Share: []string{"*"}})
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return err
}

func benchSchema(d *tool.Definition) {
	d.InputSchema = tool.Schema(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)
}

// The floor is the least that a call through the chains of two hosts needs over NATS: each message is sealed, and there is
// no link, no stream of calls, no placing and no session.
var floorSeal = func() cipher.AEAD {
	block, _ := aes.NewCipher(make([]byte, 32)) // cannot fail
	aead, _ := cipher.NewGCM(block)
	return aead
}()

func seal(text []byte) []byte {
	nonce := make([]byte, floorSeal.NonceSize(), floorSeal.NonceSize()+len(text)+floorSeal.Overhead())
	return floorSeal.Seal(nonce, nonce, text, nil)
}

func unseal(sealed []byte) ([]byte, error) {
	n := floorSeal.NonceSize()
	return floorSeal.Open(sealed[n:n], sealed[:n], sealed[n:], nil)
}

// answerFloor runs the call in a sealed request, and returns the sealed answer.
func answerFloor(h *host.Host, sealed []byte) ([]byte, error) {
	arguments, err := unseal(sealed)
	if err != nil {
		return nil, err
	}
	res, err := h.Execute(context.Background(), tool.Call{Name: "echo", Arguments: arguments})
	return seal([]byte(res.Text())), err
}

// floor returns a host whose tool does its work by such requests.
func floor(b *testing.B, nc *nats.Conn) *host.Host {
	b.Helper()
	h := newHost(b)
	require.NoError(b, h.Register(handler("echo", func(_ context.Context, call tool.Call) (tool.Result, error) {
		m, err := nc.Request("bench.floor", seal(call.Arguments), 10*time.Second)
		if err != nil {
			return tool.Result{}, err
		}
		text, err := unseal(m.Data)
		return tool.Text(string(text)), err
	}, benchSchema)))
	return h
}

// BenchmarkFleet measures calls of a mounted tool of another process through the chains of both hosts, as ratios to bare
// NATS requests of the same size between the same processes in the same run, and to the floor; and what joining and idling cost.
func BenchmarkFleet(b *testing.B) {
	b.Run("call", benchmarkCall)
	b.Run("join", benchmarkJoin)
	b.Run("idle", benchmarkIdle)
}

func benchmarkCall(b *testing.B) {
	s, keyFile := siteWithFile(b)
	cmd := exec.Command(os.Args[0]) //nolint:gosec,noctx // this binary
	cmd.Env = append(os.Environ(), benchVariable+"="+s.URL()+" "+keyFile)
	cmd.Stderr = os.Stderr
	stdin := require.Must(cmd.StdinPipe())(b)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() { _ = stdin.Close(); _ = cmd.Wait() })
	a := join(b, s.config("a", mount("*")))
	require.Eventually(b, "the other process", func() bool { return a.has("echo") })
	arguments := require.Must(json.Marshal(map[string]string{"text": benchText}))(b)
	client := s.connect(b)
	request := []byte(benchText)
	executes := func(h *host.Host) func() error {
		return func() error {
			_, err := h.Execute(b.Context(), tool.Call{Name: "echo", Arguments: arguments})
			return err
		}
	}
	bare := func() error {
		_, err := client.Request("bench.echo", request, 10*time.Second)
		return err
	}
	kinds := map[string]func() error{"bare": bare, "floor": executes(floor(b, client)), "fleet": executes(a.Host)}
	median, rate := map[string][]float64{}, map[string][]float64{}
	for b.Loop() {
		for kind, call := range kinds {
			median[kind] = append(median[kind], float64(latency(b, call)))
			rate[kind] = append(rate[kind], throughput(b, call))
		}
	}
	for _, kind := range []string{"floor", "fleet"} {
		b.ReportMetric(middle(median[kind])/middle(median["bare"]), kind+"-p50/bare")
		b.ReportMetric(middle(rate[kind])/middle(rate["bare"]), kind+"-calls/bare")
	}
	b.ReportMetric(middle(median["bare"]), "bare-p50-ns")
	b.ReportMetric(middle(rate["bare"]), "bare-calls/s")
}

// latency returns the median of what a call takes.
func latency(b *testing.B, call func() error) time.Duration {
	b.Helper()
	all := make([]time.Duration, benchCalls)
	for i := range all {
		begin := time.Now()
		require.NoError(b, call())
		all[i] = time.Since(begin)
	}
	return middle(all)
}

// throughput returns the calls in a second of several callers.
func throughput(b *testing.B, call func() error) float64 {
	b.Helper()
	begin := time.Now()
	var group sync.WaitGroup
	for range benchCallers {
		group.Go(func() {
			for range benchCalls / 16 {
				if err := call(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	return benchCallers * benchCalls / 16 / time.Since(begin).Seconds()
}

func middle[T int | float64 | time.Duration](all []T) T {
	slices.Sort(all)
	return all[len(all)/2]
}

// benchmarkJoin measures how long a host takes to join one that shares a thousand tools.
func benchmarkJoin(b *testing.B) {
	s := newSite(b)
	tools := make([]tool.Tool, benchTools)
	for i := range tools {
		tools[i] = says(fmt.Sprintf("far.tool-%d", i), "", func(d *tool.Definition) {
			d.InputSchema = tool.Schema(fmt.Sprintf(`{"type":"object","properties":{
				"path":{"type":"string","description":"The file, number %d."},"limit":{"type":"integer","minimum":1}},"required":["path"]}`, i))
		})
	}
	join(b, s.config("b", share("*")), tools...)
	for i := 0; b.Loop(); i++ {
		a := join(b, s.config(fmt.Sprintf("a%d", i), mount("*")))
		if a.Len() != benchTools {
			b.Fatalf("%d tools", a.Len())
		}
		_ = a.Fleet.Close(context.Background())
	}
}

// benchmarkIdle counts the messages of two hosts without calls.
func benchmarkIdle(b *testing.B) {
	const watched = 5 * time.Second
	s := newSite(b)
	var messages atomic.Int64
	listener := s.connect(b)
	require.Must(listener.Subscribe(">", func(*nats.Msg) { messages.Add(1) }))(b)
	tools := make([]tool.Tool, 100)
	for i := range tools {
		tools[i] = says(fmt.Sprintf("tool-%d", i), "")
	}
	join(b, s.config("b", share("*")), tools...)
	join(b, s.config("a", mount("*")))
	for b.Loop() {
		begin := messages.Load()
		<-time.After(watched)
		b.ReportMetric(float64(messages.Load()-begin)/watched.Seconds()/2, "messages/s/host")
	}
}
