package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/plugins/execution/internal/target"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func (p plugin) compile(t testing.TB, form string) compilation {
	t.Helper()
	return decode[compilation](t, p, "compile_form", args{"form": form})
}

func TestCompile(t *testing.T) {
	t.Parallel()
	p := sharedShop(t)
	out := p.compile(t, "func greet(i item) string {\n\treturn fmt.Sprintf(\"%d\", i.Name)\n}")
	if !out.OK || !out.Kept || !slices.Equal(out.Declared, []string{"greet"}) || len(out.Warnings) != 1 {
		t.Fatalf("got %+v", out)
	}
	if w := out.Warnings[0]; w.Line != 2 || w.Column == 0 || !strings.Contains(w.Message, "wrong type string") {
		t.Errorf("the warning is %+v", w)
	}
	if out := p.must(t, "greet(stock[0])"); out.Values[0].Type != "string" {
		t.Errorf("what was compiled is not kept: %+v", out)
	}
	out = p.compile(t, "x := total(stock)\ny := undefined1")
	if out.OK || out.Kept || len(out.Errors) != 2 || out.Errors[0].Line != 1 || out.Errors[1].Line != 2 {
		t.Errorf("got %+v", out)
	}
	out = p.compile(t, "os.Exit(3)\ntotal(stock)") // nothing runs
	if !out.OK || out.Kept || !slices.Equal(out.Types, []string{"int", "error"}) {
		t.Errorf("got %+v", out)
	}
	res, err := p.Call(t, "compile_form", args{"form": "nope"})
	if err != nil || !res.IsError || !strings.Contains(res.Text(), "1:1: undefined: nope") {
		t.Errorf("got %s, %v", res.Text(), err)
	}
}

// A scratch package is vetted, next to test files too.
func TestCompileInScratch(t *testing.T) {
	links(t)
	t.Parallel()
	for name, c := range map[string]struct {
		files    map[string]string
		warnings int
	}{
		"no module":  {nil, 1},
		"a module":   {map[string]string{"go.mod": "module example.com/m\n\ngo 1.25\n"}, 1},
		"with tests": {map[string]string{"go.mod": "module example.com/m\n\ngo 1.25\n", "m_test.go": "package m\n"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := fresh(t, c.files).compile(t, "func f() { fmt.Printf(\"%d\", \"x\") }")
			if !out.OK || !out.Kept || out.Package != target.Scratch || len(out.Warnings) != c.warnings {
				t.Errorf("got %+v", out)
			}
		})
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	p := sharedShop(t)
	if out := decode[history](t, p, "get_repl_history", args{}); len(out.Entries) != 0 || out.Total != 0 {
		t.Errorf("a new session: %+v", out)
	}
	for i := range 12 {
		p.eval(t, fmt.Sprintf("missing%d", i)) // quick, as it does not compile
	}
	p.is(t, "1 + 1", "2", "int")
	out := decode[history](t, p, "get_repl_history", args{})
	if len(out.Entries) != 10 || out.Total != 13 {
		t.Fatalf("%d entries of %d", len(out.Entries), out.Total)
	}
	if last := out.Entries[9]; last.Form != "1 + 1" || !last.OK || last.Result != "2 (int)" || last.Number != 13 || last.Tool != "eval_form" {
		t.Errorf("the last is %+v", last)
	}
	if out := decode[history](t, p, "get_repl_history", args{"limit": 2}); len(out.Entries) != 2 || out.Entries[0].Form != "missing11" || out.Entries[0].OK {
		t.Errorf("the last two: %+v", out)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	if schema := configSchema(); !json.Valid(schema) {
		t.Errorf("the schema is %s", schema)
	}
	l, err := parseLimits([]byte(`{"time": "5s", "processes": 3}`))
	if want := (limits{Time: tool.Duration(5 * time.Second), Memory: 2 << 30, Processes: 3, Output: 32 << 10, Confine: true}); err != nil || l != want {
		t.Errorf("got %+v, %v", l, err)
	}
	for _, bad := range []string{`{"time": "3h"}`, `{"time": "0s"}`, `{"memory": 1}`, `{"processes": 0}`, `{"output": 1}`, `[]`} {
		if _, err := parseLimits([]byte(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
