package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/hostile"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestHostileLies(t *testing.T) { //nolint:paralleltest // it counts
	lying := func(mode plugintest.Mode, code tool.Code, texts ...string) attack {
		a := attack{mode: mode, on: everyCarrier, call: &fault{code: code, texts: texts}}
		if code == tool.CodeInvalidResult {
			a.call.words, a.fault = true, "the plugin"
		}
		return a
	}
	together(t, 4, []attack{
		{mode: plugintest.Twice, uncalled: true, start: &fault{code: tool.CodeInvalidDefinition, texts: []string{`"twice.tool" twice`}}, state: plugin.Refused, reason: "twice", then: isRefused},
		{mode: hostile.Squatter, start: &fault{code: tool.CodeAlreadyExists, texts: []string{"plugin snoop"}}, then: firstStays},
		{mode: hostile.Schemas, start: &fault{code: tool.CodeInvalidDefinition, texts: []string{"schema"}}, then: hasOneTool},
		{mode: hostile.Retries, start: &fault{code: tool.CodeInvalidDefinition, texts: []string{"max_retries is"}}, then: hasOneTool},
		{mode: hostile.BadNames, start: &fault{code: tool.CodeInvalidDefinition}, then: hasOneTool},
		{mode: hostile.LongNames, start: &fault{code: tool.CodeInvalidDefinition}, then: hasOneTool},
		{
			mode: hostile.Poet, on: everyCarrier, start: &fault{code: tool.CodeInvalidDefinition},
			call: &fault{code: tool.CodeToolFailed, texts: []string{`\x1b[2J\u202emessage\nand more`}}, then: hasOneTool,
		},
		lying(hostile.BadJSON, tool.CodeInvalidResult, "is not JSON"),
		aboutCarriers(lying(hostile.BadMessage, tool.CodeInvalidResult)),
		lying(hostile.Neither, tool.CodeInvalidResult, "neither a result nor an error"),
		lying(hostile.Both, tool.CodeToolFailed, `and it failed\x1b[2J`), // the last one counts, as protobuf has it
		lying(hostile.Poser, tool.CodeToolFailed, `plugin snoop crashed\x1b[2J\n`),
		{mode: hostile.BadUTF8, on: everyCarrier, each: true, then: isText},
		{mode: hostile.Shifty, uncalled: true, on: []plugin.Carrier{plugin.Socket, plugin.Stream}, then: asksAgain},
		{mode: hostile.Fickle, uncalled: true, on: []plugin.Carrier{plugin.Socket, plugin.Stream}, then: isAskedSeldom},
	})
}

// A plugin calls a tool safe and repeatable that is neither. The operator's word
// wins: the approver is asked, and a call that ended with the process is not repeated.
func TestHostileClaims(t *testing.T) {
	t.Parallel()
	dir, root, no := plugintest.Dir(t, plugintest.Crasher), t.TempDir(), false
	h := newHost(t, host.WithRoot(root), host.WithOverrides(map[string]host.Override{"crash.flaky": {Safety: tool.Dangerous, Idempotent: &no}}))
	require.Must(h.Load(t.Context(), dir))(t)
	x, _ := h.Get("crash.flaky")
	if !x.Claimed.Idempotent || x.Claimed.Safety != tool.Safe || x.Safety != tool.Dangerous || x.Idempotent {
		t.Fatalf("it claims %+v, and is taken for %+v", x.Claimed, x.Definition)
	}
	if _, err := h.Execute(t.Context(), tool.Call{Name: "crash.flaky"}); tool.CodeOf(err) != tool.CodeApprovalRequired {
		t.Errorf("the approver was not asked: %v", err)
	}
	yes := policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
		return policy.Decision{Verdict: policy.Allow}, nil
	})
	if _, err := h.Session(host.WithApprover(yes)).Execute(t.Context(), tool.Call{Name: "crash.flaky"}); tool.CodeOf(err) != tool.CodeCrashed {
		t.Errorf("got %v", err)
	}
	ledger, err := os.ReadFile(filepath.Join(root, "ledger"))
	if n := strings.Count(string(ledger), "crash.flaky"); err != nil || n != 1 {
		t.Errorf("it ran %d times, %v", n, err)
	}
}

// owned are the attacker's tools.
func (s *scene) owned() []string {
	var out []string
	for _, x := range s.Tools(host.Filter{}) {
		if x.Owner == s.owner {
			out = append(out, x.Name)
		}
	}
	return out
}

// isRefused has a plugin with no tools, no process, and no other one until an
// operator says so, whom it disappoints.
func isRefused(t *testing.T, s *scene) {
	if names := s.owned(); len(names) > 0 {
		t.Errorf("it has the tools %q", names)
	}
	status := func() plugin.Status {
		all := s.Plugins()
		return all[slices.IndexFunc(all, func(p plugin.Status) bool { return p.Name == s.owner })]
	}
	require.Eventually(t, "it has ended", func() bool { return status().PID == 0 })
	err := s.RestartPlugin(t.Context(), s.owner)
	for _, e := range faultsOf(err) {
		s.check(t, e, s.attack.start)
	}
	if now := status(); err == nil || now.State != plugin.Refused || now.Starts != 2 {
		t.Errorf("restarted: %+v, error %v", now, err)
	}
}

// hasOneTool has the good tool of a plugin with bad ones answer.
func hasOneTool(t *testing.T, s *scene) {
	if names := s.owned(); len(names) != 1 || names[0] != hostile.Tool {
		t.Errorf("it has the tools %q", names)
	}
	s.call(t)
}

func firstStays(t *testing.T, s *scene) {
	if x, _ := s.Get("snoop.look"); x.Owner != "snoop" {
		t.Errorf("snoop.look went to %q", x.Owner)
	}
	hasOneTool(t, s)
}

func isText(t *testing.T, s *scene) {
	if text := s.result.Text(); !utf8.ValidString(text) || !strings.Contains(text, "bad") {
		t.Errorf("got %q", text)
	}
}

// asksAgain calls a dangerous tool whose definition changes after each call: who
// said yes to one definition is asked about the next.
func asksAgain(t *testing.T, s *scene) {
	var shown []string
	caller := s.Session(host.WithApprover(policy.ApproverFunc(func(_ context.Context, r policy.Request) (policy.Decision, error) {
		shown = append(shown, r.Definition.Description)
		return policy.Decision{Verdict: policy.Allow}, nil
	})))
	described := func(text string) func() bool {
		return func() bool {
			x, _ := s.Get(hostile.Tool)
			return strings.Contains(x.Description, text)
		}
	}
	for _, text := range []string{"called 0 times", "called 1 times", "called 2 times"} {
		require.Eventually(t, "the definition is "+text, described(text))
		if _, err := caller.Execute(t.Context(), tool.Call{Name: hostile.Tool}); err != nil {
			t.Error(err)
		}
		if n := len(shown); n == 0 || !strings.Contains(shown[n-1], text) {
			t.Errorf("the approver was shown %q", shown)
		}
	}
}

// isAskedSeldom has a plugin that changes without end looked at a few times at once,
// and four times a second from then on.
func isAskedSeldom(t *testing.T, s *scene) {
	begin := time.Now()
	yes := policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
		return policy.Decision{Verdict: policy.Allow}, nil
	})
	if _, err := s.Session(host.WithApprover(yes)).Execute(t.Context(), tool.Call{Name: hostile.Tool}); err != nil {
		t.Error(err)
	}
	asked := func() (n int) {
		x, _ := s.Get(hostile.Tool)
		_, _ = fmt.Sscanf(x.Description, "Has been described %d times.", &n)
		return n
	}
	require.Eventually(t, "it is asked again", func() bool { return asked() > 1 })
	// Some are free. Each of the others costs ten times as long as the last one took, so that a
	// loaded machine sees fewer, which is right as well.
	s.neighbourAnswers(t, s.answered.Load()+50)
	if n, most := asked(), 7+int(time.Since(begin)/(250*time.Millisecond)); n > most {
		t.Errorf("it was asked %d times, more than %d", n, most)
	}
}
