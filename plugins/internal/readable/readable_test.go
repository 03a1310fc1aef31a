package readable

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type in struct {
	N int `json:"n"`
}

type out struct {
	N int `json:"n"`
}

func (o out) Text() string { return strings.Repeat("I", o.N) }

func (o out) Failed() bool { return o.N > 3 }

func TestFunc(t *testing.T) {
	t.Parallel()
	f := Func("count", "Counts.", func(_ context.Context, i in) (out, error) {
		if i.N < 0 {
			return out{}, errors.New("too few")
		}
		return out(i), nil
	})
	set, err := tool.NewSet(f)
	require.NoError(t, err)
	if f.OutputSchema == nil {
		t.Error("there is no output schema")
	}
	r, err := set.Execute(t.Context(), tool.Call{Name: "count", Arguments: []byte(`{"n":3}`)})
	if err != nil || r.Text() != "III" || string(r.Structured) != `{"n":3}` || r.IsError {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = set.Execute(t.Context(), tool.Call{Name: "count", Arguments: []byte(`{"n":-1}`)})
	if err != nil || r.Text() != "tool count execution failed: too few" || !r.IsError {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = set.Execute(t.Context(), tool.Call{Name: "count", Arguments: []byte(`{"n":4}`)})
	if err != nil || r.Text() != "tool count execution failed: IIII" || string(r.Structured) != `{"n":4}` || !r.IsError {
		t.Errorf("%+v, %v", r, err)
	}
}
