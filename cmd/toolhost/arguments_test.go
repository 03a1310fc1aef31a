package main

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestPairs(t *testing.T) {
	t.Parallel()
	schema := tool.Schema(`{"type":"object","properties":{
		"s":{"type":"string"}, "n":{"type":"integer"}, "maybe":{"type":["null","string"]}, "list":{"type":["null","array"]},
		"any":{}, "all":true}}`)
	for _, c := range []struct {
		text  string
		words []string
		want  string
	}{
		{``, []string{"s=12"}, `{"s":"12"}`},
		{``, []string{"n=12"}, `{"n":12}`},
		{``, []string{"n=twelve"}, `{"n":"twelve"}`},
		{``, []string{"maybe=null"}, `{"maybe":"null"}`},
		{``, []string{"list=[1,2]"}, `{"list":[1,2]}`},
		{``, []string{"any=true", "all=word"}, `{"all":"word","any":true}`},
		{``, []string{"stranger=1"}, `{"stranger":"1"}`},
		{``, []string{"s=a=b"}, `{"s":"a=b"}`},
		{``, []string{"s="}, `{"s":""}`},
		{`{"s":"x","n":1}`, []string{"n=2"}, `{"n":2,"s":"x"}`},
		{`{"s":`, []string{"n=2"}, `{"s":`},
		{`[1]`, []string{"n=2"}, `[1]`},
		{`null`, []string{"n=2"}, `null`},
		{`not JSON`, nil, `not JSON`},
	} {
		p, err := parsePairs(c.words)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "the arguments", string(p.over([]byte(c.text), schema)), c.want)
	}
}

// A tool that is not there has no schema.
func TestPairsWithoutSchema(t *testing.T) {
	t.Parallel()
	equal(t, "the arguments", string(pairs{"n": "1"}.over(nil, nil)), `{"n":"1"}`)
}

func TestReadBounded(t *testing.T) {
	t.Parallel()
	text, err := readBounded("a file", strings.NewReader(strings.Repeat("x", maxArguments)))
	if err != nil || len(text) != maxArguments {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	_, err = readBounded("a file", strings.NewReader(strings.Repeat("x", maxArguments+1)))
	equal(t, "the code", tool.CodeOf(err), tool.CodeResourceExhausted)
}
