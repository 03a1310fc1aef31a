package pluginsdk_test

import (
	"context"
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type (
	small  uint8
	nested struct {
		I  int            `json:"i,omitempty"`
		P  *int64         `json:"p,omitempty"`
		L  []int32        `json:"l,omitempty"`
		M  map[string]int `json:"m,omitempty"`
		S  small          `json:"s,omitempty"`
		U  uint64         `json:"u,omitempty"`
		A  [2]int16       `json:"a,omitzero"`
		D  time.Duration  `json:"d,omitempty"`
		F  float64        `json:"f,omitempty"`
		F2 float32        `json:"f2,omitempty"`
		N  json.Number    `json:"n,omitempty"`
		X  any            `json:"x,omitempty"`
		B  []byte         `json:"b,omitempty"`
		BB [][]byte       `json:"bb,omitempty"`
		T  time.Time      `json:"t,omitzero"`
		In *nested        `json:"in,omitempty"`
	}
)

// TestDecodesWhatTheSchemaAllows checks, through a host, that the SDK decodes what the
// schema that it inferred allows, or says which argument it cannot decode.
func TestDecodesWhatTheSchemaAllows(t *testing.T) {
	t.Parallel()
	var got nested
	h := require.Must(host.New(host.WithRoot(t.TempDir())))(t)
	take := pluginsdk.Func("take", "Takes.", func(_ context.Context, in nested) (string, error) {
		got = in
		return "", nil
	}, pluginsdk.Safe())
	require.NoError(t, h.Register(take))
	hundred := int64(100)
	for _, c := range []struct {
		args string
		want nested
		text string // of the refusal
	}{
		{`{"i":3.0}`, nested{I: 3}, ""},
		{`{"i":1e2,"p":1.0e+2,"u":18446744073709551615.0}`, nested{I: 100, P: &hundred, U: math.MaxUint64}, ""},
		{`{"l":[-1.0,20e-1,-0.0],"m":{"a":5E0},"s":2.55e2,"a":[1.0,2],"d":1e9}`, nested{
			L: []int32{-1, 2, 0}, M: map[string]int{"a": 5}, S: 255, A: [2]int16{1, 2}, D: time.Second,
		}, ""},
		{`{"u":-0,"f":1.5,"x":{"y":[2.5,"1.0"]}}`, nested{F: 1.5, X: map[string]any{"y": []any{2.5, "1.0"}}}, ""},
		{`{"in":{"in":{"i":7.0,"n":1.50}}}`, nested{In: &nested{In: &nested{I: 7, N: "1.50"}}}, ""},
		{`{"i":9223372036854775807,"b":"YWI=","t":"2026-11-22T09:00:00Z"}`, nested{
			I: math.MaxInt64, B: []byte("ab"), T: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC),
		}, ""},
		{`{"i":1.5}`, nested{}, "invalid value for i: expected integer, got number"},
		{`{"s":256}`, nested{}, "invalid value for s: 256 is too large, at most 255"},
		{`{"l":[1,2147483648]}`, nested{}, "invalid value for l[1]: 2147483648 is too large, at most 2147483647"},
		{`{"i":9223372036854775808}`, nested{}, "invalid value for i: 9223372036854775808 is out of range, from -9223372036854775808 to 9223372036854775807"},
		{`{"i":1e20}`, nested{}, "invalid value for i: 1e20 is out of range, from -9223372036854775808 to 9223372036854775807"},
		{`{"i":1.0,"u":18446744073709551616}`, nested{}, "invalid value for u: 18446744073709551616 is out of range, from 0 to 18446744073709551615"},
		{`{"in":{"in":{"m":{"a":1,"b c":-1e19}}}}`, nested{}, `invalid value for in.in.m["b c"]: -10000000000000000000 is out of range, from -9223372036854775808 to 9223372036854775807`},
		{`{"x":[1,{"y":1e999}]}`, nested{}, "invalid value for x[1].y: 1e999 is out of range, as it is not a 64-bit number"},
		{`{"f2":1e39}`, nested{}, "invalid value for f2: 1e39 is out of range, as it is not a 32-bit number"},
		{`{"b":"*"}`, nested{}, "invalid value for b: is not base64 with padding (RFC 4648): wrong from byte 0 on"},
		{`{"b":"YWI"}`, nested{}, "invalid value for b: is not base64 with padding (RFC 4648): wrong from byte 0 on"},
		{`{"in":{"bb":["YWI=","YW_="]}}`, nested{}, "invalid value for in.bb[1]: is not base64 with padding (RFC 4648): wrong from byte 2 on"},
		{`{"t":"2026-12-31T23:59:60Z"}`, nested{}, "invalid value for t: parsing time \"2026-12-31T23:59:60Z\": second out of range"},
	} {
		got = nested{}
		out := h.Session().Call(t.Context(), tool.Call{Name: "take", Arguments: json.RawMessage(c.args)})
		want := "Invalid tool call: " + c.text
		switch {
		case c.text == "" && (!out.Success || !reflect.DeepEqual(got, c.want)):
			t.Errorf("%s: %s\n%+v\nwant %+v", c.args, out.Content, got, c.want)
		case c.text != "" && (out.Success || out.Error.Code != tool.CodeInvalidArguments || out.Content != want):
			t.Errorf("%s:\n%s\nwant\n%s", c.args, out.Content, want)
		}
	}
}
