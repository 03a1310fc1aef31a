package host_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The options of one call do not change its session.
func TestCallOptions(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	harm := echo("harm", func(d *tool.Definition) { d.Safety = tool.Dangerous })
	harm.Handler = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		tool.Report(ctx, tool.Progress{Done: 1})
		_, bounded := ctx.Deadline()
		if !bounded {
			return tool.Text("no bound"), nil
		}
		<-ctx.Done()
		return tool.Result{}, context.Cause(ctx)
	}
	require.NoError(t, h.Register(harm))
	s := h.Session()
	call := tool.Call{Name: "harm"}
	if out := s.Call(t.Context(), call); out.Error == nil || out.Error.Code != tool.CodeApprovalRequired {
		t.Errorf("without options: %+v", out)
	}
	var done []float64
	out, _, err := s.CallWith(t.Context(), call, host.CallOptions{
		Approver: policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
			return policy.Decision{Verdict: policy.Allow}, nil
		}),
		Progress: func(p tool.Progress) { done = append(done, p.Done) },
		Timeout:  time.Second / 4, // in which the handler begins
	})
	if !errors.Is(err, context.DeadlineExceeded) || out.Error == nil || out.Error.Code != tool.CodeDeadlineExceeded {
		t.Errorf("a call of a quarter of a second: %+v, %v", out, err)
	}
	if !reflect.DeepEqual(done, []float64{1}) {
		t.Errorf("progress %v", done)
	}
	if out := s.Call(t.Context(), call); out.Error == nil || out.Error.Code != tool.CodeApprovalRequired {
		t.Errorf("the session has changed: %+v", out)
	}
}

// A call with a key runs once, however often and however concurrently it is repeated.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	var runs atomic.Int32
	send := echo("send", func(d *tool.Definition) { d.Permission = tool.Net })
	send.Handler = func(context.Context, tool.Call) (tool.Result, error) {
		if runs.Add(1) == 1 {
			return tool.Text("sent"), nil
		}
		return tool.Result{}, errors.New("sent twice")
	}
	require.NoError(t, h.Register(send))
	s := h.Session()
	key := host.CallOptions{IdempotencyKey: "a"}
	call := tool.Call{Name: "send", Arguments: json.RawMessage(`{"text":"x"}`)}
	if _, _, err := s.CallWith(t.Context(), call, key); tool.CodeOf(err) != tool.CodePermissionDenied {
		t.Fatalf("without a grant: %v", err)
	}
	s.Grant(tool.Net) // the refused call was forgotten
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if out, _, _ := s.CallWith(t.Context(), call, key); out.Content != "sent" {
				t.Errorf("answered %+v", out)
			}
		})
	}
	all.Wait()
	if runs.Load() != 1 {
		t.Errorf("ran %d times", runs.Load())
	}
	other := call
	other.Arguments = json.RawMessage(`{"text":"y"}`)
	if _, _, err := s.CallWith(t.Context(), other, key); tool.CodeOf(err) != tool.CodeInvalidArguments {
		t.Errorf("the key of another call: %v", err)
	}
	s.Revoke(tool.Net)
	if _, _, err := s.CallWith(t.Context(), call, key); tool.CodeOf(err) != tool.CodePermissionDenied {
		t.Errorf("after the grant was revoked: %v", err)
	}
	apart := h.Session(host.WithGrants(tool.Net))
	for range 2 { // an error of the tool is remembered too, as it may have done something
		if _, _, err := apart.CallWith(t.Context(), call, key); tool.CodeOf(err) != tool.CodeToolFailed {
			t.Errorf("another session: %v", err)
		}
	}
	if runs.Load() != 2 {
		t.Errorf("ran %d times for two sessions", runs.Load())
	}
}

// A tool is told the key; one that came with the call is passed on, and not remembered.
func TestToolIsToldIdempotencyKey(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	var runs int
	who := echo("who")
	who.Handler = func(_ context.Context, c tool.Call) (tool.Result, error) {
		runs++
		return tool.Text(c.IdempotencyKey), nil
	}
	require.NoError(t, h.Register(who))
	call := tool.Call{Name: "who", Arguments: json.RawMessage(`{"text":"x"}`), IdempotencyKey: "its own"}
	for _, key := range []string{"", "", "given", "given"} {
		want := cmp.Or(key, "its own")
		if out, _, err := h.Session().CallWith(t.Context(), call, host.CallOptions{IdempotencyKey: key}); out.Content != want {
			t.Errorf("with the option %q: %q, %v", key, out.Content, err)
		}
	}
	s := h.Session()
	for range 2 {
		if res, err := s.Execute(t.Context(), call); err != nil || res.Text() != "its own" {
			t.Errorf("executed: %v, %v", res, err)
		}
	}
	if runs != 6 {
		t.Errorf("it ran %d times", runs)
	}
	for _, bad := range []string{strings.Repeat("k", 256+1), "\xff"} {
		call.IdempotencyKey = bad
		if _, err := s.Execute(t.Context(), call); tool.CodeOf(err) != tool.CodeInvalidArguments {
			t.Errorf("the key %.10q: %v", bad, err)
		}
		if _, _, err := s.CallWith(t.Context(), tool.Call{Name: "who"}, host.CallOptions{IdempotencyKey: bad}); tool.CodeOf(err) != tool.CodeInvalidArguments {
			t.Errorf("the key %.10q as an option: %v", bad, err)
		}
	}
}

// An outcome has what text cannot show, and the name that the tool has.
func TestOutcomeHasBlocksAndNames(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	shot := echo("screen.shot")
	picture := tool.ImageContent{Data: []byte{1, 2}, MIMEType: "image/png"}
	shot.Handler = func(_ context.Context, c tool.Call) (tool.Result, error) {
		return tool.Result{Content: []tool.Content{tool.TextContent{Text: "Here."}, picture}}, nil
	}
	for _, one := range []tool.Tool{shot, echo("text.echo")} {
		require.NoError(t, h.Register(one))
	}
	out := h.Call(t.Context(), tool.Call{Name: "screen_shot"})
	if out.Name != "screen_shot" || out.Metadata.Tool != "screen.shot" {
		t.Errorf("called %q, which is %q", out.Name, out.Metadata.Tool)
	}
	if want := ([]tool.Content{tool.TextContent{Text: "Here."}, picture}); !reflect.DeepEqual([]tool.Content(out.Blocks), want) {
		t.Errorf("blocks %v", out.Blocks)
	}
	var again host.Outcome
	if err := json.Unmarshal(require.Must(json.Marshal(out))(t), &again); err != nil || !reflect.DeepEqual(again, out) {
		t.Errorf("%+v, %v", again, err)
	}
	text := require.Must(json.Marshal(h.Call(t.Context(), tool.Call{Name: "text.echo", Arguments: []byte(`{"text":"x"}`)})))(t)
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil || members["blocks"] != nil {
		t.Errorf("text is told twice: %s", text)
	}
}
