package tooltest

import (
	"context"
	"testing"

	"github.com/toolhost/toolhost/internal/form"
	"github.com/toolhost/toolhost/internal/sample"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// checkQuestions makes each call with a caller that answers the questions of the tool: with no,
// by going away, and with a form that is made from the question's schema. The questions must
// be such as a host passes on, and the calls end as any others.
func checkQuestions(t *testing.T, p tool.Provider, calls []tool.Call) {
	defs := list(t, p)
	for _, c := range calls {
		for _, action := range []tool.Action{tool.Decline, tool.Cancel, tool.Accept} {
			asked := 0
			ctx := tool.WithAsker(t.Context(), func(_ context.Context, q tool.Question) (tool.Answer, error) {
				asked++
				if err := form.Check(q.Message, q.Schema); err != nil {
					t.Errorf("%s asks what no host passes on: %v", c.Name, err)
				}
				answer := tool.Answer{Action: action}
				if action == tool.Accept && len(q.Schema) > 0 {
					answer.Content = sample.Arguments(q.Schema, true)
				}
				return answer, nil
			})
			res, err := within(t, func() (tool.Result, error) { return p.Execute(ctx, c) })
			for _, d := range defs {
				if d.Name == c.Name {
					judge(t, d, c, res, err)
				}
			}
			if asked == 0 {
				break // the tool asks nothing
			}
		}
	}
}
