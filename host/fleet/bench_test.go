package fleet_test

import (
	"context"
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
	err = errors.Join(nc.Flush(), h.Register(says("echo", strings.Repeat("x", benchSize), func(d *tool.Definition) {
		d.InputSchema = tool.Schema(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)
	})))
	if err == nil {
		_, err = fleet.Join(context.Background(), h, fleet.Config{URL: url, Key: key, Name: "b", Share: []string{"*"}})
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return err
}

// BenchmarkFleet measures calls of a mounted tool of another process through the chains of both hosts, as ratios to bare
// NATS requests of the same size between the same processes in the same run, and what joining and idling cost.
func BenchmarkFleet(b *testing.B) {
	b.Run("call", benchmarkCall)
	b.Run("join", benchmarkJoin)
	b.Run("idle", benchmarkIdle)
}

func benchmarkCall(b *testing.B) {
	s, keyFile := siteWithFile(b)
	text := strings.Repeat("x", benchSize)
	cmd := exec.Command(os.Args[0]) //nolint:gosec,noctx // this binary
	cmd.Env = append(os.Environ(), benchVariable+"="+s.URL()+" "+keyFile)
	cmd.Stderr = os.Stderr
	stdin := require.Must(cmd.StdinPipe())(b)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() { _ = stdin.Close(); _ = cmd.Wait() })
	a := join(b, s.config("a", mount("*")))
	require.Eventually(b, "the other process", func() bool { return a.has("echo") })
	arguments := require.Must(json.Marshal(map[string]string{"text": text}))(b)
	client := s.connect(b)
	request := []byte(text)
	bare := func() error {
		_, err := client.Request("bench.echo", request, 10*time.Second)
		return err
	}
	remote := func() error {
		_, err := a.Execute(b.Context(), tool.Call{Name: "echo", Arguments: arguments})
		return err
	}
	var median, rate []float64
	for b.Loop() {
		p50, x := latency(b, remote), throughput(b, remote)
		bareP50, bareRate := latency(b, bare), throughput(b, bare)
		median, rate = append(median, float64(p50)/float64(bareP50)), append(rate, x/bareRate)
	}
	b.ReportMetric(middle(median), "p50/bare")
	b.ReportMetric(middle(rate), "calls/bare")
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
