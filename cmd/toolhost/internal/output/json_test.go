package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// What is large or deep is printed as the value that it is, too.
func TestPrintOutcome(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 500) + strings.Repeat("]", 500)
	long := strings.Repeat("\"content\": \"\" \u009b\\", 9000)
	for name, want := range map[string]host.Outcome{
		"small": {Name: "a", Content: "b", Structured: json.RawMessage(`{"a":[1,{}]}`)},
		"deep":  {Name: `"content": ""`, Content: "b", Structured: json.RawMessage(`"[` + "\u202e" + `"`)},
		"long":  {Name: "a", Content: long, Error: &host.OutcomeError{Code: "c", Message: long}},
		"both":  {Name: "a", Content: long, Structured: json.RawMessage(deep)},
	} {
		var b bytes.Buffer
		assert.NoError(t, New(&b).Outcome(want, nil))
		var got host.Outcome
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatalf("%s: %v: %.300q", name, err, b.String())
		}
		var was, is any
		if want.Structured != nil {
			require.NoError(t, errors.Join(json.Unmarshal(want.Structured, &was), json.Unmarshal(got.Structured, &is)))
		}
		if got.Content != want.Content || !reflect.DeepEqual(got.Error, want.Error) || !reflect.DeepEqual(is, was) {
			t.Errorf("%s: it prints %.300s", name, b.String())
		}
		if b.Len() > 400+4*(len(want.Content)+len(want.Structured)) {
			t.Errorf("%s: it takes %d bytes", name, b.Len())
		}
		if strings.ContainsAny(b.String(), "\u009b\u202e") {
			t.Errorf("%s: it is not printable", name)
		}
	}
	if err := New(&bytes.Buffer{}).Outcome(host.Outcome{Content: long, Structured: json.RawMessage(deep + "]")}, nil); err == nil {
		t.Error("what is not JSON is printed")
	}
}
