package arguments

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const schema = `{"type":"object","properties":{
	"s":{"type":"string","description":"some text\nand more"}, "n":{"type":"integer"}, "maybe":{"type":["null","string"]}, "any":{}, "all":true,
	"list":{"type":["null","array"],"items":{"type":"string"}}, "numbers":{"anyOf":[{"type":"array","items":{"type":"number"}},{"type":"null"}]},
	"either":{"type":["string","array"],"items":{"type":"string"}}, "rows":{"type":"array","items":{"type":"array","items":{"type":"integer"}}},
	"o":{"type":"object","properties":{"a":{"type":"integer"},"b":{"$ref":"#/$defs/b"},"s":{"type":"string"}},"additionalProperties":false},
	"dotted.name":{"type":"string"}, "two":{"type":"object","properties":{"ways":{}}}, "two.ways":{"type":"string"},
	"env":{"type":"object","additionalProperties":{"type":"string"}}, "free":{"type":"object"},
	"servers":{"type":"object","additionalProperties":{"type":"object","properties":{"port":{"type":"integer"}}}},
	"level":{"enum":["low","high"]}, "size":{"enum":[1,2]}, "on":{"type":"boolean"}
},"additionalProperties":false,"$defs":{"b":{"type":"object","properties":{"c":{"type":"boolean"},"l":{"type":"array","items":{"enum":["x","y"]}}}}}}`

func TestOver(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, words, want string }{
		{``, "s=12", `{"s":"12"}`}, {``, "n=12", `{"n":12}`}, {``, "n=twelve", `{"n":"twelve"}`}, {``, "maybe=null", `{"maybe":"null"}`},
		{``, "any=true all=word", `{"all":"word","any":"true"}`}, {``, "stranger=1", `{"stranger":"1"}`}, {``, "s=a=b", `{"s":"a=b"}`},
		{``, "s=", `{"s":""}`}, {``, "size=1 level=low on=true", `{"level":"low","on":true,"size":1}`},
		{`{"s":"x","n":1}`, "n=2", `{"n":2,"s":"x"}`}, {`{"s":`, "n=2", `{"s":`}, {`[1]`, "n=2", `[1]`}, {`null`, "n=2", `null`}, {`not JSON`, "", `not JSON`},
		// Lists.
		{``, `list=["a"]`, `{"list":["a"]}`}, {``, "list=a", `{"list":["a"]}`}, {``, "list=a list=1", `{"list":["a","1"]}`}, {``, "list=null", `{"list":null}`},
		{``, "numbers=1 numbers=2e3", `{"numbers":[1,2e3]}`}, {``, "numbers=[1,2]", `{"numbers":[1,2]}`}, {``, "numbers=x", `{"numbers":["x"]}`},
		{``, "either=a", `{"either":"a"}`}, {``, "either=a either=b", `{"either":["a","b"]}`}, {``, "list=[a-z] list=b", `{"list":["[a-z]","b"]}`},
		{``, "rows=[[1],[2]]", `{"rows":[[1],[2]]}`}, {``, "rows=[1] rows=[2]", `{"rows":[[1],[2]]}`}, {`{"list":["z"]}`, "list=a", `{"list":["a"]}`},
		// Parts.
		{``, "o.a=1 o.b.c=true o.s=1", `{"o":{"a":1,"b":{"c":true},"s":"1"}}`}, {``, "o.b.l=x o.b.l=y", `{"o":{"b":{"l":["x","y"]}}}`},
		{`{"o":{"a":1,"s":"x"},"n":12345678901234567890}`, "o.a=2", `{"n":12345678901234567890,"o":{"a":2,"s":"x"}}`},
		{``, "o.x=1", `{"o":{"x":"1"}}`}, {``, "dotted.name=x", `{"dotted.name":"x"}`}, {``, "s.x=1", `{"s.x":"1"}`}, {``, "a.b=1", `{"a.b":"1"}`},
		{``, "env.A.B=1", `{"env":{"A.B":"1"}}`}, {``, "free.a=1", `{"free":{"a":"1"}}`}, {``, "servers.a.port=1", `{"servers":{"a":{"port":1}}}`},
		{``, `o={"a":1}`, `{"o":{"a":1}}`}, {``, ".=1 a.=2", `{".":"1","a.":"2"}`},
	} {
		got, err := over(c.text, c.words)
		if err != nil || got != c.want {
			t.Errorf("%s over %s is %s, %v, want %s", c.words, c.text, got, err, c.want)
		}
	}
}

// What can be read in two ways is refused, with what to do.
func TestOverRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, words, says string }{
		{``, "n=1 n=2", "--arg n is given twice, and is not a list"}, {``, "any=1 any=2", "the tool does not say that it is a list"},
		{``, "two.ways=1", `can be read in 2 ways: ["two.ways"], ["two","ways"]`}, {``, "free.a.b=1", "can be read in 2 ways"},
		{``, `list=["a"] list=b`, "is given as a whole list and again"}, {``, "list=[a-z]", "begins as one and is not JSON"},
		{``, `o={"a":1} o.s=x`, "--arg o and --arg o.s set the same thing"}, {``, `o.s=x o={"a":1}`, "set the same thing"},
		{`{"o":[1]}`, "o.a=1", "leads into an argument that the JSON gives as another value"},
		{``, "s", "is not of the form name=value"}, {``, "=x", "is not of the form name=value"}, {``, "s=\xff", "is not UTF-8"}, {``, "\xff=s", "is not UTF-8"},
	} {
		_, err := over(c.text, c.words)
		if exit.Status(err) != exit.BadUsage || !strings.Contains(err.Error(), c.says) || tool.AsError(err).Hint == "" {
			t.Errorf("%q over %s: %v, want %s", c.words, c.text, err, c.says)
		}
	}
}

func over(text, words string) (string, error) {
	p, err := Parse(strings.Fields(words))
	if err != nil {
		return "", err
	}
	out, err := p.Over([]byte(text), tool.Schema(schema))
	return string(out), err
}

// A tool that does not exist has no schema, and a schema may lead nowhere, or in a circle.
func TestOverStrangeSchemas(t *testing.T) {
	t.Parallel()
	p := require.Must(Parse([]string{"a.b=1"}))(t)
	for _, schema := range []tool.Schema{
		nil, tool.Schema("true"), tool.Schema("7"), tool.Schema(`{"$ref":"#"}`), tool.Schema(`{"$ref":"#/$defs/none"}`), tool.Schema(`{"$ref":"http://x"}`),
		tool.Schema(`{"properties":7}`), tool.Schema(`{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`),
	} {
		if out, err := p.Over(nil, schema); err != nil || string(out) != `{"a.b":"1"}` {
			t.Errorf("%s: %s, %v", schema, out, err)
		}
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	names := Complete(tool.Schema(schema), []string{"n=1", "list=a"}, "")
	for _, want := range []string{"s=\tsome text", "list=\t", "o.a=\t", "o.b.c=\t", "dotted.name=\t", "env=\t"} {
		if !slices.Contains(names, want) {
			t.Errorf("%q is not in %q", want, names)
		}
	}
	if slices.Contains(names, "n=\t") {
		t.Error("what is given is proposed again")
	}
	for typed, want := range map[string][]string{
		"level=": {"level=low", "level=high"}, "size=": {"size=1", "size=2"}, "on=t": {"on=true", "on=false"}, "o.b.l=": {"o.b.l=x", "o.b.l=y"},
		"s=": nil, "stranger=": nil, "two.ways=": nil,
	} {
		assert.EqualSlicesf(t, Complete(tool.Schema(schema), nil, typed), want, "%s is completed with", typed)
	}
}
