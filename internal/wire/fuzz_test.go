package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/internal/errorcode"
	"github.com/toolhost/toolhost/internal/fixture"
	"github.com/toolhost/toolhost/internal/need"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

func seed(f *testing.F, m proto.Message) {
	f.Helper()
	b := require.Must(proto.Marshal(m))(f)
	f.Add(b)
	f.Add(b[:len(b)/2])
}

// FuzzResult checks that no answer of a plugin makes the host panic, or gives it a result
// that it cannot display or forward.
func FuzzResult(f *testing.F) {
	answer := func(r *pluginv1.Result) *pluginv1.ExecuteResponse {
		return &pluginv1.ExecuteResponse{Outcome: &pluginv1.ExecuteResponse_Result{Result: r}}
	}
	seed(f, answer(resultToProto(fixture.Content())))
	seed(f, answer(resultToProto(tool.Failure("no"))))
	seed(f, answer(&pluginv1.Result{MetaJson: []byte(`{"a":[{}]}`), Content: []*pluginv1.Content{
		{ExtraJson: []byte(`{"_meta":{}}`), Block: &pluginv1.Content_Text{Text: &pluginv1.Text{Text: "t"}}},
	}}))
	seed(f, answer(&pluginv1.Result{
		Content: []*pluginv1.Content{
			{},
			{Block: &pluginv1.Content_Text{}},
			{Block: &pluginv1.Content_Image{}},
			{Block: &pluginv1.Content_Resource{Resource: &pluginv1.Resource{Body: &pluginv1.Resource_Blob{}}}},
			{Block: &pluginv1.Content_ResourceLink{}},
		},
		StructuredJson: []byte("\"\xff\""),
	}))
	seed(f, answer(&pluginv1.Result{Content: []*pluginv1.Content{{Block: &pluginv1.Content_Resource{}}},
		StructuredJson: []byte(`{`)}))
	seed(f, &pluginv1.ExecuteResponse{Outcome: &pluginv1.ExecuteResponse_Error{
		Error: &pluginv1.Error{Code: "crashed", Message: "m"},
	}})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseResponse(bytes.Clone(b))
		if err != nil {
			assert.Equalf(t, errorcode.Of(tool.CodeOf(err)).From, errorcode.Plugin, "the code of %v", err)
			return
		}
		if !utf8.ValidString(r.Text()) {
			t.Errorf("the text %q", r.Text())
		}
		if doc, err := json.Marshal(r); err != nil || !utf8.Valid(doc) {
			t.Errorf("the JSON %q, %v", doc, err)
		}
		if again, err := parseResponse(appendResponse(nil, &r, nil)); err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("%#v came back as %#v, %v", r, again, err)
		}
	})
}

// FuzzDescribe checks that the host either reads or rejects any description.
func FuzzDescribe(f *testing.F) {
	var defs []tool.Definition
	for _, t := range fixture.Tools() {
		defs = append(defs, t.Definition)
	}
	seed(f, descriptionToProto(Description{Name: "n", Version: "v", SDK: "s", ConfigSchema: tool.Schema(`{}`),
		Tools: defs, Features: []string{"a"}}))
	seed(f, descriptionToProto(Description{Needs: &tool.Needs{Read: []string{"/a", tool.Any}, Net: []string{"*.a.example:443"}, CPU: 1}}))
	seed(f, &pluginv1.DescribeResponse{Tools: []*pluginv1.ToolDefinition{
		{}, {Safety: "harmless"}, {TimeoutMs: -1 << 63, MaxRetries: -1 << 31,
			RateLimit: &pluginv1.RateLimit{Calls: -1, PeriodMs: 1<<63 - 1}},
	}})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var p pluginv1.DescribeResponse
		if checkBounds(b) != nil || proto.Unmarshal(b, &p) != nil {
			return
		}
		d, err := descriptionFromProto(&p)
		if err != nil {
			if tool.CodeOf(err) != tool.CodeInvalidDefinition {
				t.Error(err)
			}
			return
		}
		for _, def := range d.Tools {
			_ = def.Check()
			if def.Safety < tool.Unset || def.Safety > tool.Dangerous {
				t.Errorf("the safety %v", def.Safety)
			}
		}
		again, err := descriptionFromProto(overTheWire(t, descriptionToProto(d), &pluginv1.DescribeResponse{}))
		if err != nil || len(again.Tools) != len(d.Tools) || !reflect.DeepEqual(again.Needs, d.Needs) || need.Check(d.Needs) != nil {
			t.Fatalf("%+v came back as %+v, %v", d, again, err)
		}
		for i := range d.Tools {
			if a, b := again.Tools[i], d.Tools[i]; a.Name != b.Name || a.Timeout != b.Timeout || a.Safety != b.Safety ||
				a.MaxRetries != b.MaxRetries {
				t.Errorf("%+v came back as %+v", b, a)
			}
		}
	})
}
