package host_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/hostile"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxHeapTaken is how much memory a flood may take at its most: what one message
// may have, a few times over, as it is read, put together and decoded.
const maxHeapTaken = 4 * wire.MaxMessage

// flooding is an attacker whose calls are answered while it floods.
func flooding(mode plugintest.Mode) attack {
	return attack{mode: mode, on: everyCarrier, then: goesOn}
}

// goesOn has the attacker, and its neighbour, answer for a while.
func goesOn(t *testing.T, s *scene) {
	for begin, answered := time.Now(), s.answered.Load(); time.Since(begin) < 300*time.Millisecond || s.answered.Load() < answered+5; {
		if time.Since(begin) > ceiling {
			t.Fatal("the neighbour answers no more")
		}
		s.call(t)
	}
}

// Floods come one after the other, so that the memory of each can be told.
func TestHostileFlood(t *testing.T) { //nolint:paralleltest // it counts
	unary := []plugin.Carrier{plugin.Unary}
	for i, a := range []attack{
		{mode: hostile.Large, name: "8 MiB", on: everyCarrier, each: true, args: `{"bytes":8388608}`, then: has(8 << 20)},
		{
			mode: hostile.Large, name: "65 MiB", on: everyCarrier, each: true, args: `{"bytes":68157440}`, within: 2 * time.Second,
			call: &fault{code: tool.CodeResourceExhausted},
		},
		{mode: hostile.Gigabyte, on: everyCarrier, each: true, call: &fault{code: tool.CodeResourceExhausted, words: true}, fault: "larger than", within: 2 * time.Second, then: goesOnAfter},
		{mode: hostile.Bomb, on: unary, call: &fault{code: tool.CodeResourceExhausted}, within: 2 * time.Second},
		{mode: hostile.Blocks, on: unary, call: &fault{code: tool.CodeInvalidResult, texts: []string{"content block 0: unknown kind"}}},
		flooding(hostile.StderrLines),
		flooding(hostile.StderrBytes),
		flooding(hostile.StderrJSON),
		flooding(hostile.StdoutLines),
		flooding(hostile.StdioStream),
	} {
		a.on = a.byDay(i)
		taken := peak(func() { together(t, len(everyCarrier), []attack{a}) })
		t.Logf("%s%s: %d MiB", a.mode, a.name, taken>>20)
		if taken > maxHeapTaken {
			t.Errorf("%s took %d MiB of memory", a.mode, taken>>20)
		}
	}
	if !testing.Short() {
		taken := peak(func() {
			together(t, 1, []attack{{mode: hostile.Million, uncalled: true, start: &fault{code: tool.CodeUnavailable, texts: []string{"did not start"}}, within: 2 * time.Second}})
		})
		if taken > maxHeapTaken {
			t.Errorf("%s took %d MiB of memory", hostile.Million, taken>>20)
		}
	}
	together(t, 1, []attack{undialled(attack{mode: hostile.BrokerStream})})
}

// has looks at the result's length.
func has(bytes int) func(t *testing.T, s *scene) {
	return func(t *testing.T, s *scene) {
		if n := len(s.result.Text()); n != bytes {
			t.Errorf("the result has %d bytes, want %d", n, bytes)
		}
	}
}

// goesOnAfter has the neighbour answer for a while, and asks the attacker no more.
func goesOnAfter(t *testing.T, s *scene) {
	s.neighbourAnswers(t, s.answered.Load()+10)
}

// Whoever breaks the rules of the stream loses all that is on it.
func TestHostileFrames(t *testing.T) { //nolint:paralleltest // it counts
	streams := []plugin.Carrier{plugin.Socket, plugin.Stream}
	broken := func(mode plugintest.Mode, texts ...string) attack {
		return attack{mode: mode, on: streams, call: &fault{code: tool.CodeInvalidResult, texts: append(texts, "the plugin broke the stream's protocol"), words: true}, then: ends}
	}
	spamming := func(mode plugintest.Mode) attack { return attack{mode: mode, on: streams, then: goesOn} }
	together(t, 4, []attack{
		broken(hostile.HugeFrame, "4294967295 bytes"),
		{mode: hostile.HugeTotal, on: streams, each: true, call: &fault{code: tool.CodeResourceExhausted}},
		{mode: hostile.NoWindow, on: streams, uncalled: true, call: &fault{code: tool.CodeInvalidResult, words: true}, then: threeAtOnce},
		broken(hostile.ManyMessages),
		{mode: hostile.TwoAnswers, on: streams},
		broken(hostile.StrangeAnswer, "not made"),
		broken(hostile.HostFrames, "only a host sends"),
		broken(hostile.BadFrames, "cannot be read"),
		{mode: hostile.HalfFrame, on: streams, reason: "exit status 6", call: &fault{code: tool.CodeCrashed, texts: []string{"exit status 6"}, words: true}},
		{
			mode: hostile.NotReading, on: streams, each: true, call: &fault{code: tool.CodeDeadlineExceeded}, then: fills,
			// Not the caller's patience, which is also spent on checking large arguments.
			opts: []host.Option{host.WithOverrides(map[string]host.Override{hostile.Tool: {Timeout: time.Second}})},
		},
		spamming(hostile.UnknownFrames),
		spamming(hostile.WindowFrames),
		spamming(hostile.ChangeFrames),
		spamming(hostile.LogFrames),
	})
}

// ends has the operator see why the host ended the attacker.
func ends(t *testing.T, s *scene) {
	require.Eventually(t, "the operator sees why it ended", func() bool {
		return slices.ContainsFunc(s.Plugins(), func(p plugin.Status) bool {
			return p.Name == s.owner && strings.Contains(p.Reason, "killed by SIGKILL by the host: the plugin broke the stream's protocol")
		})
	})
}

// fills sends the attacker more than it reads.
func fills(t *testing.T, s *scene) {
	s.attack.args = `{"x":"` + strings.Repeat("x", 8<<20) + `"}`
	for range 3 {
		s.call(t)
	}
}

func threeAtOnce(t *testing.T, s *scene) {
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			_, err := s.Execute(t.Context(), tool.Call{Name: hostile.Tool})
			for _, e := range faultsOf(err) {
				s.check(t, e, s.attack.call)
			}
		})
	}
	all.Wait()
}
