package pluginsdk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/tooltest"
)

// echo makes a tool that returns its arguments as its function sees them.
func echo[In any](opts ...pluginsdk.Option) tool.Tool {
	return pluginsdk.Func("t", "Returns its arguments.", func(_ context.Context, in In) (tool.Result, error) {
		b, err := json.Marshal(in)
		return tool.Result{Content: []tool.Content{tool.TextContent{Text: string(b)}}}, err
	}, opts...)
}

func TestTags(t *testing.T) {
	t.Parallel()
	type inner struct {
		Unit string `json:"unit" enum:"m, km" default:"m"`
	}
	type all struct {
		Sort  string            `json:"sort" jsonschema:"the order" enum:"name,size" default:"name" example:"size"`
		Level int8              `json:"level,omitempty" enum:"1,2,3"`
		Odd   string            `json:"odd,omitempty" enum:"[\"a,b\",\"\"]"`
		Maybe *string           `json:"maybe,omitempty" enum:"x,y"`
		Lines int               `json:"lines" minimum:"1" maximum:"500" default:"10"`
		Share float64           `json:"share,omitempty" minimum:"0" maximum:"0.5"`
		Ratio *float64          `json:"ratio,omitempty" default:"0.5"`
		Name  string            `json:"name,omitempty" minLength:"2" maxLength:"8" pattern:"^[a-z]+$" format:"hostname"`
		Tags  []string          `json:"tags,omitempty" minItems:"1" maxItems:"3" enum:"red,green" default:"red,green"`
		Sizes []int             `json:"sizes,omitempty" minimum:"0" example:"[1,2]" default:"1, 2"`
		Env   map[string]string `json:"env,omitempty" maxLength:"9"`
		From  netip.Addr        `json:"from" default:"::1"`
		At    *time.Time        `json:"at,omitempty" example:"2026-01-02T03:04:05Z"`
		In    inner             `json:"in,omitzero"`
		List  []inner           `json:"list,omitempty"`
		Wait  tool.Duration     `json:"wait" default:"1m30s"`
		On    bool              `json:"on" default:"true"`
		Key   string            `json:"key,omitempty" sensitive:"true"`
		Free  any               `json:"free,omitempty" default:"{\"a\":1}"`
	}
	x := echo[all](pluginsdk.Sensitive("key"))
	for path, want := range map[string]string{
		"sort":          `{"type":"string","description":"the order","enum":["name","size"],"default":"name","examples":["size"]}`,
		"level":         `{"type":"integer","minimum":-128,"maximum":127,"enum":[1,2,3]}`,
		"odd":           `{"type":"string","enum":["a,b",""]}`,
		"maybe":         `{"type":["null","string"],"enum":["x","y",null]}`,
		"lines":         `{"type":"integer","minimum":1,"maximum":500,"default":10}`,
		"share":         `{"type":"number","minimum":0,"maximum":0.5}`,
		"ratio":         `{"type":["null","number"],"default":0.5}`,
		"name":          `{"type":"string","minLength":2,"maxLength":8,"pattern":"^[a-z]+$","format":"hostname"}`,
		"tags":          `{"type":["null","array"],"items":{"type":"string","enum":["red","green"]},"minItems":1,"maxItems":3,"default":["red","green"]}`,
		"sizes":         `{"type":["null","array"],"items":{"type":"integer","minimum":0},"examples":[[1,2]],"default":[1,2]}`,
		"env":           `{"type":["null","object"],"additionalProperties":{"type":"string","maxLength":9}}`,
		"from":          `{"type":"string","default":"::1"}`,
		"at":            `{"type":["null","string"],"format":"date-time","examples":["2026-01-02T03:04:05Z"]}`,
		"in properties": `{"unit":{"type":"string","enum":["m","km"],"default":"m"}}`,
		"wait":          `{"type":"string","default":"1m30s"}`,
		"on":            `{"type":"boolean","default":true}`,
		"key":           `{"type":"string"}`,
		"free":          `{"default":{"a":1}}`,
	} {
		got := at(t, x.Definition, append([]string{"properties"}, strings.Fields(path)...)...)
		var a, b any
		if json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal([]byte(want), &b) != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	assert.Equalf(t, at(t, x.Definition, "required"), "", "required")
	assert.EqualSlicesf(t, x.Sensitive, []string{"key"}, "sensitive")
	for args, want := range map[string]string{
		`{}`: `{"sort":"name","lines":10,"ratio":0.5,"tags":["red","green"],"sizes":[1,2],"from":"::1","in":{"unit":"m"},"wait":"1m30s","on":true,"free":{"a":1}}`,
		`{"ratio":null,"tags":null,"in":{},"list":[{},{"unit":"km"}],"on":false,"free":null,"sizes":[]}`://
		`{"sort":"name","lines":10,"from":"::1","in":{"unit":"m"},"list":[{"unit":"m"},{"unit":"km"}],"wait":"1m30s","on":false}`,
	} {
		res, err := tooltest.Call(t.Context(), x, args)
		if err != nil || res.Text() != want {
			t.Errorf("%s: %s, %v, want %s", args, res.Text(), err, want)
		}
	}
	for args, want := range map[string]string{
		`{"sort":"date"}`: "sort", `{"lines":0}`: "lines", `{"name":"A"}`: "name", `{"tags":["blue"]}`: "tags",
		`{"tags":[]}`: "tags", `{"level":4}`: "level", `{"list":[{"unit":"mile"}]}`: "unit", `{"env":{"a":"0123456789"}}`: "env",
	} {
		if _, err := tooltest.Call(t.Context(), x, args); tool.CodeOf(err) != tool.CodeInvalidArguments || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error about %s", args, err, want)
		}
	}
}

type branch struct {
	Name string             `json:"name" default:"leaf"`
	Kids []*branch          `json:"kids,omitempty"`
	By   map[string]*branch `json:"by,omitempty"`
	Next *branch            `json:"next,omitempty"`
}

type Paging struct {
	Limit int `json:"limit" default:"20" maximum:"100"`
}

// Defaults are filled in wherever a struct is, and nowhere else.
func TestDefaults(t *testing.T) {
	t.Parallel()
	type opts struct {
		Depth int    `json:"depth" default:"3"`
		Only  string `json:"only,omitempty"`
	}
	type strict struct {
		Must  int `json:"must"`
		Other int `json:"other" default:"1"`
	}
	type in struct {
		Paging
		Opts   opts            `json:"opts,omitzero"`
		Ptr    *opts           `json:"ptr,omitempty"`
		Map    map[string]opts `json:"map,omitempty"`
		Lists  [][]opts        `json:"lists,omitempty"`
		Strict strict          `json:"strict,omitzero"`
		Raw    json.RawMessage `json:"raw,omitempty"`
		Any    map[string]any  `json:"any,omitempty"`
		Whole  *opts           `json:"whole" default:"{\"only\":\"a\"}"`
		Tree   branch          `json:"tree"`
	}
	x := echo[in]()
	for args, want := range map[string]string{
		`{"tree":{}}`: `{"limit":20,"opts":{"depth":3},"whole":{"depth":3,"only":"a"},"tree":{"name":"leaf"}}`,
		` { "limit" : 5.0, "tree" : {"name":"a","kids":[{},null],"by":{"x":{}},"next":{"next":{}}} } `://
		`{"limit":5,"opts":{"depth":3},"whole":{"depth":3,"only":"a"},"tree":{"name":"a","kids":[{"name":"leaf"},null],"by":{"x":{"name":"leaf"}},"next":{"name":"leaf","next":{"name":"leaf"}}}}`,
		`{"ptr":{},"map":{"a":{},"b":{"depth":0}},"lists":[[{}],[]],"strict":{"must":2},"raw":{ "depth" : 1 },"any":{"limit":{"x":[{}]}},"whole":null,"tree":{}}`://
		`{"limit":20,"opts":{"depth":3},"ptr":{"depth":3},"map":{"a":{"depth":3},"b":{"depth":0}},"lists":[[{"depth":3}],[]],"strict":{"must":2,"other":1},"raw":{"depth":1},"any":{"limit":{"x":[{}]}},"whole":null,"tree":{"name":"leaf"}}`,
	} {
		res, err := tooltest.Call(t.Context(), x, args)
		if err != nil || res.Text() != want {
			t.Errorf("%s:\n%s, %v, want\n%s", args, res.Text(), err, want)
		}
	}
	assert.Equalf(t, at(t, x.Definition, "required"), `["tree"]`, "required")
	// Each handler sees the caller's own arguments next to what it is given.
	y := pluginsdk.Func("y", "Does.", func(ctx context.Context, v Paging) (string, error) {
		return fmt.Sprint(v.Limit, string(tool.CallFrom(ctx).Arguments)), nil
	}, pluginsdk.Preview(func(_ context.Context, v Paging) (tool.Result, error) { return tool.Text(fmt.Sprint(v.Limit)), nil }))
	if res, err := y.Handler(t.Context(), tool.Call{Name: "y"}); err != nil || res.Text() != "20" {
		t.Errorf("a call without arguments: %s, %v", res.Text(), err)
	}
	if res, err := y.Handler(t.Context(), tool.Call{Name: "y", Arguments: []byte(`{}`)}); err != nil || res.Text() != "20{}" {
		t.Errorf("the call: %s, %v", res.Text(), err)
	}
	if res, err := y.Preview(t.Context(), tool.Call{Name: "y"}); err != nil || res.Text() != "20" {
		t.Errorf("the preview: %s, %v", res.Text(), err)
	}
	for _, args := range []string{`[1]`, `{`, `null`, `7`, `"x"`, `{"limit":`} {
		if _, err := y.Handler(t.Context(), tool.Call{Name: "y", Arguments: []byte(args)}); args != "null" && tool.CodeOf(err) != tool.CodeInvalidArguments {
			t.Errorf("%s: %v", args, err)
		}
	}
	z := echo[struct {
		N int `json:"n"`
	}](pluginsdk.Argument("n", `{"default": 7, "maximum": 9}`))
	if res, err := tooltest.Call(t.Context(), z, `{}`); err != nil || res.Text() != `{"n":7}` {
		t.Errorf("a default by an option: %s, %v", res.Text(), err)
	}
}

// A member of a result that has a default is required all the same.
func TestTagsOfResults(t *testing.T) {
	t.Parallel()
	x := pluginsdk.Func("t", "Pages.", func(context.Context, struct{}) (Paging, error) { return Paging{101}, nil })
	if want := `"limit":{"type":"integer","default":20,"maximum":100}},"required":["limit"]`; !strings.Contains(string(x.OutputSchema), want) {
		t.Errorf("%s, want %s", x.OutputSchema, want)
	}
	if _, err := tooltest.Call(t.Context(), x, `{}`); tool.CodeOf(err) != tool.CodeInvalidResult {
		t.Errorf("a result above its maximum: %v", err)
	}
}

func TestTagsOfForms(t *testing.T) {
	t.Parallel()
	type order struct {
		Size   string   `json:"size" enum:"s,m,l" default:"m"`
		Guests int      `json:"guests" minimum:"1" maximum:"8"`
		Extras []string `json:"extras" enum:"salt,bread" default:"bread"`
		Mail   string   `json:"mail,omitempty" format:"email"`
	}
	for content, want := range map[string]string{
		`{"guests":2}`: "{m 2 [bread] } accept <nil>",
		`{"guests":2,"size":"l","extras":[],"mail":"a@example.com"}`: "{l 2 [] a@example.com} accept <nil>",
	} {
		got, action, err := pluginsdk.Ask[order](answering(tool.Accept, content), "What?")
		assert.Equalf(t, fmt.Sprintf("%v %v %v", got, action, err), want, "%s: got %v %v %v, want %s", content, got, action, err, want)
	}
	if _, _, err := pluginsdk.Ask[order](answering(tool.Accept, `{"guests":9}`), "What?"); tool.CodeOf(err) != tool.CodeInvalidResult {
		t.Errorf("nine guests: %v", err)
	}
	_, _, err := pluginsdk.Ask[struct {
		Size string `enum:"s,m" default:"xl"`
	}](answering(tool.Accept, `{}`), "What?")
	if tool.CodeOf(err) != tool.CodeInvalidArguments || !strings.Contains(err.Error(), "the default \"xl\" of Size does not fit") {
		t.Errorf("a bad tag: %v", err)
	}
}

func TestBadTags(t *testing.T) {
	t.Parallel()
	for want, define := range map[string]func() tool.Tool{
		`the default 501 of lines does not fit`: echoOf[struct {
			N int `json:"lines" maximum:"500" default:"501"`
		}],
		`the default "c" of list[].a does not fit`: echoOf[struct {
			L []struct {
				A string `json:"a" enum:"a,b" default:"c"`
			} `json:"list"`
		}],
		`pluginsdk.Func("t"): field N: the tag minimum:"x": it is not an integer`: echoOf[struct {
			N int `minimum:"x"`
		}],
		`field N: the tag minimum:"1.5": it is not an integer for int`: echoOf[struct {
			N int `minimum:"1.5"`
		}],
		`field N: the tag maximum:"300": it is not an integer for uint8: 300 is out of range, from 0 to 255`: echoOf[struct {
			N uint8 `maximum:"300"`
		}],
		`field S: the tag minimum:"1" is for integer or number, and string is not; use pluginsdk.Argument`: echoOf[struct {
			S string `minimum:"1"`
		}],
		`field In: field B: the tag pattern:"a" is for string, and bool is not`: echoOf[struct {
			In struct {
				B bool `pattern:"a"`
			}
		}],
		`the tag maxLength:"8" is for string, and []uint8 is not`: echoOf[struct {
			B []byte `maxLength:"8"`
		}],
		`the tag maxItems:"8" is for array, and string is not`: echoOf[struct {
			S string `maxItems:"8"`
		}],
		`the tag minLength:"-1": it is not a whole number from 0 on`: echoOf[struct {
			S string `minLength:"-1"`
		}],
		`the tag maximum:"1": the minimum is above the maximum`: echoOf[struct {
			N int `minimum:"2" maximum:"1"`
		}],
		`the tag maxLength:"1": minLength is above maxLength`: echoOf[struct {
			S string `minLength:"2" maxLength:"1"`
		}],
		`the tag maxItems:"1": minItems is above maxItems`: echoOf[struct {
			S []int `minItems:"2" maxItems:"1"`
		}],
		`the tag pattern:"(": error parsing regexp`: echoOf[struct {
			S string `pattern:"("`
		}],
		`the tag format:"": it is empty`: echoOf[struct {
			S string `format:""`
		}],
		`the tag enum:"a,,b": a value is empty`: echoOf[struct {
			S string `enum:"a,,b"`
		}],
		`the tag enum:"a,b,a": a is there twice`: echoOf[struct {
			S string `enum:"a,b,a"`
		}],
		`the tag enum:"1,9": 9 does not fit`: echoOf[struct {
			N int `enum:"1,9" maximum:"5"`
		}],
		`the tag enum:"[1": it is not a list in JSON`: echoOf[struct {
			N int `enum:"[1"`
		}],
		`the tag enum:"true" is for string or integer or number`: echoOf[struct {
			B bool `enum:"true"`
		}],
		`the tag default:"yes": it is not a boolean`: echoOf[struct {
			B bool `default:"yes"`
		}],
		`the tag default:"nowhere": it is not a string for netip.Addr`: echoOf[struct {
			A netip.Addr `default:"nowhere"`
		}],
		`the tag default:"30": it is not a string for tool.Duration`: echoOf[struct {
			D tool.Duration `default:"30"`
		}],
		`the tag default:"a": write a list in JSON`: echoOf[struct {
			L [][]int `default:"a"`
		}],
		`the default null of N does not fit`: echoOf[struct {
			N int `default:"null"`
		}],
		`the tag example:"9": it does not fit`: echoOf[struct {
			N int `maximum:"5" example:"9"`
		}],
		`the tag sensitive:"yes": it must be "true"`: echoOf[struct {
			S string `sensitive:"yes"`
		}],
		`there is no tag minimun; did you mean minimum?`: echoOf[struct {
			N int `minimun:"5"`
		}],
		`there is no tag maxlength; did you mean maxLength?`: echoOf[struct {
			S string `maxlength:"5"`
		}],
		`there is no tag min; did you mean minimum, minLength or minItems?`: echoOf[struct {
			N int `min:"5"`
		}],
		`there is no tag multipleOf; use pluginsdk.Argument`: echoOf[struct {
			N int `multipleOf:"5"`
		}],
		`there is no tag required; fields are required unless`: echoOf[struct {
			N int `required:"true"`
		}],
	} {
		wantPanic(t, want, func() { define() })
	}
	echo[struct { // tags of other packages
		A int `json:"a" yaml:"a" db:"a" validate:"min=1" form:"a" env:"A" mapstructure:"a" xml:"a"`
	}]()
	wantPanic(t, `the default 5 of n does not fit`, func() {
		echo[struct {
			N string `json:"n"`
		}](pluginsdk.Argument("n", `{"default":5}`))
	})
}

func echoOf[In any]() tool.Tool { return echo[In]() }
