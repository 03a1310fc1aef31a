package policy_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func answers(d policy.Decision, err error) policy.Approver {
	return policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) { return d, err })
}

func TestInOrder(t *testing.T) {
	t.Parallel()
	mute := answers(policy.Decision{}, fmt.Errorf("the first is mute: %w", policy.ErrCannotAsk))
	hinting := answers(policy.Decision{}, &tool.Error{Message: "the second too", Hint: "wait", Err: policy.ErrCannotAsk})
	failed := errors.New("it broke")
	yes, no := answers(policy.Decision{Verdict: policy.Allow, By: "eva"}, nil), answers(policy.Decision{By: "bob"}, nil)
	for name, c := range map[string]struct {
		all  []policy.Approver
		by   string
		text string // of the error
	}{
		"the first that can":     {[]policy.Approver{nil, mute, yes, no}, "eva", ""},
		"a no is an answer":      {[]policy.Approver{no, yes}, "bob", ""},
		"a failure is an answer": {[]policy.Approver{answers(policy.Decision{}, failed), yes}, "", "it broke"},
		"none can":               {[]policy.Approver{mute, hinting}, "", "the first is mute; the second too"},
		"there is none":          {nil, "", "no one can be asked"},
	} {
		d, err := policy.InOrder(c.all...).Approve(t.Context(), policy.Request{})
		if d.By != c.by || (err == nil) != (c.text == "") || err != nil && err.Error() != c.text {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
		if cannot := errors.Is(err, policy.ErrCannotAsk); cannot != (name == "none can" || name == "there is none") {
			t.Errorf("%s: no one could be asked: %v", name, cannot)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if d, err := policy.InOrder(mute, yes).Approve(ctx, policy.Request{}); err == nil {
		t.Errorf("the call has ended, and another was asked: %+v", d)
	}
}
