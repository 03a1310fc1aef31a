package fleet

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A call is repeated only if that is harmless, and by the fleet only if the host's chain does not repeat it:
// else each of the operator's retries would be two.
func TestRepeatable(t *testing.T) {
	t.Parallel()
	lost := &tool.Error{Code: tool.CodeUnavailable, Err: errLost}
	for _, c := range []struct {
		idempotent, repeated bool
		err                  error
		want                 bool
	}{
		{false, false, &tool.Error{Code: tool.CodeUnavailable, Unsent: true}, true},
		{false, true, &tool.Error{Code: tool.CodeUnavailable, Unsent: true}, false},
		{false, true, &tool.Error{Code: tool.CodeResourceExhausted, Unsent: true}, true},
		{false, false, lost, false},
		{true, false, lost, true},
		{true, true, lost, false},
		{true, false, &tool.Error{Code: tool.CodeUnavailable}, false},
		{true, false, &tool.Error{Code: tool.CodeCrashed}, true},
		{true, true, &tool.Error{Code: tool.CodeCrashed}, false},
		{false, false, &tool.Error{Code: tool.CodeCrashed}, false},
		{false, false, &tool.Error{Code: tool.CodePermissionDenied, Unsent: true}, true},
		{true, false, &tool.Error{Code: tool.CodePermissionDenied}, false},
		{true, false, &tool.Error{Code: tool.CodeApprovalDenied, Unsent: true}, false},
		{true, false, fmt.Errorf("another error"), false},
	} {
		r := &remoteCall{idempotent: c.idempotent, repeated: c.repeated}
		assert.Equalf(t, r.repeatable(c.err), c.want, "%+v", c)
	}
}

// What another host says of its phases is bounded by the time that the call took here.
func TestPhasesThere(t *testing.T) {
	t.Parallel()
	lies := policy.Phases{Queued: -1, Ran: 1 << 62, Own: -3, BytesOut: 7, On: "c", There: &policy.Phases{}}
	_, a := answerOf(answer{Phases: &lies}.result(tool.Result{}))
	if got := a.phases(time.Second); *got != (policy.Phases{Ran: tool.Duration(time.Second), BytesOut: 7}) {
		t.Errorf("they are taken as %+v", got)
	}
	if none := (answer{}).phases(time.Second); none != nil {
		t.Errorf("none are %+v", none)
	}
}

// What is written of phases is JSON, and is read as encoding/json does, whoever wrote it.
func TestQuickAnswers(t *testing.T) {
	t.Parallel()
	for i := range 1 << (len(timeNames) + len(countNames)) {
		p := new(policy.Phases)
		for n, d := range timesOf(p) {
			*d = tool.Duration(i>>n&1) * (1500*tool.Duration(time.Microsecond) + tool.Duration(n))
		}
		for n, c := range countsOf(p) {
			*c = i >> (len(timeNames) + n) & 1 * (n - 2)
		}
		a := answer{Phases: p}
		text := require.Must(json.Marshal(a))(t)
		quick, ok := a.quick(nil)
		if ok != (*p != policy.Phases{}) {
			t.Fatalf("%s: written quickly: %v", text, ok)
		}
		if !ok {
			continue
		}
		var back answer
		if err := json.Unmarshal(quick, &back); err != nil || *back.Phases != *p {
			t.Fatalf("%s is written as %s: %v", text, quick, err)
		}
		for _, one := range [][]byte{text, quick} {
			if back, is := quickAnswerOf(one); !is || *back.Phases != *p {
				t.Fatalf("%s is read as %+v", one, back.Phases)
			}
		}
	}
	if _, ok := (answer{Phases: &policy.Phases{On: "b"}}).quick(nil); ok {
		t.Error("phases of a third host are left out")
	}
}
