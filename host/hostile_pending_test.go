//go:build linux && pending

package host_test

// What is not contained yet. Each moves to the file of its kind when it is:
//
//	go test -tags pending -run TestPending ./host

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/internal/hostile"
	"github.com/toolhost/toolhost/host/internal/plugintest"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// (*plugin.Plugin).ask adds to a WaitGroup that Close may be waiting for already: a
// data race. To go to TestHostileFrames.
func TestPendingChangeFrames(t *testing.T) {
	for range 10 {
		together(t, 2, []attack{{mode: hostile.ChangeFrames, on: []plugin.Carrier{plugin.Socket, plugin.Stream}, then: goesOn}})
	}
}

// go-plugin's client sets the RootCAs of a TLS configuration that is nil: the host
// panics. To go to TestHostileHandshake as attack{mode: Certificate, state: Ready},
// and BadFields too.
func TestPendingCertificate(t *testing.T) {
	h := startHost(t, hostile.Certificate)
	if h.Result != "done" {
		t.Errorf("the host says %+v", h.told)
	}
	if h := startHost(t, hostile.BadFields); h.Result != "done" {
		t.Errorf("the host says %+v", h.told)
	}
}

// It takes minutes, and 7 GiB: each definition is decoded, cloned, compiled and
// registered. Set the variable to see it.
func TestPendingMillion(t *testing.T) {
	if os.Getenv("TOOLHOST_TEST_MILLION") == "" {
		t.Skip("it takes 7 GiB")
	}
	taken := peak(func() {
		together(t, 1, []attack{{mode: hostile.Million, uncalled: true, start: &fault{code: tool.CodeUnavailable, texts: []string{"did not start"}}, within: 2 * time.Second}})
	})
	if taken > maxHeapTaken {
		t.Errorf("it took %d MiB", taken>>20)
	}
}

// The error has the name, 1 MiB with escape sequences, as its Tool.
func TestPendingLongNames(t *testing.T) {
	together(t, 1, []attack{
		{mode: hostile.LongNames, start: &fault{code: tool.CodeInvalidDefinition}, then: hasOneTool},
	})
}

// Status shows the plugin's own version and SDK as they are; and a definition may
// have escape sequences in its title and description.
func TestPendingPoet(t *testing.T) {
	together(t, 3, []attack{{mode: hostile.BadNames, start: &fault{code: tool.CodeInvalidDefinition}, then: hasOneTool}})
	together(t, 3, []attack{{
		mode: hostile.Poet, on: everyCarrier,
		call: &fault{code: tool.CodeToolFailed, texts: []string{`\x1b[2J\u202emessage\nand more`}},
		then: func(t *testing.T, s *scene) {
			x, _ := s.Get(hostile.Tool)
			if !shown(x.Title, false) || !shown(x.Description, true) {
				t.Errorf("title %q, description %q", x.Title, x.Description)
			}
		},
	}})
}

// The plugin is to be refused, and the operator to see why.
func TestPendingTwiceIsRefused(t *testing.T) {
	together(t, 1, []attack{{
		mode: plugintest.Twice, uncalled: true, state: plugin.Refused, reason: "twice",
		start: &fault{code: tool.CodeInvalidDefinition},
	}})
}

// What the host finds of a call has no end of standard error, unless it is a crash.
func TestPendingEvidence(t *testing.T) {
	words := func(a attack) attack {
		a.call.words = true
		return a
	}
	together(t, 3, []attack{
		words(endless(hostile.Silence)),
		words(attack{mode: hostile.BadJSON, on: everyCarrier, call: &fault{code: tool.CodeInvalidResult}}),
		words(attack{mode: hostile.Gigabyte, on: everyCarrier, call: &fault{code: tool.CodeResourceExhausted}}),
		words(attack{mode: hostile.HugeFrame, on: []plugin.Carrier{plugin.Socket, plugin.Stream}, call: &fault{code: tool.CodeInvalidResult}}),
	})
}

// The operator sees how the process ended, and not why the host ended it; and of a
// plugin that hangs, is stopped or answers nonsense, nothing.
func TestPendingOperatorSeesWhy(t *testing.T) {
	together(t, 3, []attack{
		{mode: hostile.HugeFrame, on: []plugin.Carrier{plugin.Socket, plugin.Stream}, reason: "protocol", call: &fault{code: tool.CodeInvalidResult}, then: soon("protocol")},
		{mode: hostile.HangUp, on: everyCarrier, call: &fault{code: tool.CodeCrashed}, then: soon("connection")},
		{mode: hostile.Silence, on: everyCarrier, patience: time.Second, call: &fault{code: tool.CodeDeadlineExceeded}, then: soon("gave up waiting")},
		{mode: hostile.BadJSON, on: everyCarrier, call: &fault{code: tool.CodeInvalidResult}, then: soon("not JSON")},
		{mode: hostile.Gigabyte, on: everyCarrier, call: &fault{code: tool.CodeResourceExhausted}, then: soon("larger than")},
		{mode: hostile.NoHealth, on: everyCarrier, then: soon("health")},
		{mode: hostile.Sick, on: everyCarrier, then: soon("health")},
	})
}

// soon waits for an operator to see a reason.
func soon(text string) func(t *testing.T, s *scene) {
	return func(t *testing.T, s *scene) {
		s.await(t, "the operator does not see "+text, func() bool {
			return slices.ContainsFunc(s.Plugins(), func(p plugin.Status) bool { return p.Name == s.owner && strings.Contains(p.Reason, text) })
		})
	}
}

// A plugin can read its host's environment and see its files in /proc, as it is the
// same user's process.
func TestPendingTheft(t *testing.T) {
	h := startHost(t, hostile.Thief)
	if strings.Contains(h.Result, "of "+h.mark) {
		t.Errorf("the plugin read the host's environment: %.300s", h.Result)
	}
}
