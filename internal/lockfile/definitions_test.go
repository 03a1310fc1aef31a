package lockfile

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// server is what is pinned of a server with tools.
func server(t *testing.T, version string, defs ...tool.Definition) Entry {
	t.Helper()
	tools := require.Must(Tools(defs))(t)
	digest := require.Must(Digest(defs))(t)
	return Entry{Identity: aaa, Definitions: digest, Version: version, Tools: tools}
}

func definition(change ...func(*tool.Definition)) tool.Definition {
	d := tool.Definition{
		Name: "files.read", Description: "Reads \\u003c <a & b> \"file\".\u202e😀\n",
		InputSchema: tool.Schema(`{"type":"object","properties":{"path":{"type":"string","maxLength":1.0}}}`),
	}
	for _, f := range change {
		f(&d)
	}
	return d
}

// A lock has the definitions of a server's tools as people can read them, each on a line.
func TestServersInALock(t *testing.T) {
	t.Parallel()
	long := definition(func(d *tool.Definition) { d.Name, d.Description = "files.long", strings.Repeat("x", maxDefinition) })
	l := &Lock{Plugins: map[string]Entry{"files": server(t, "1", definition(), long), "fs": {SHA256: aaa, Definitions: bbb, Version: "2"}}}
	content := require.Must(l.Bytes())(t)
	for _, want := range []string{
		"\nfiles identity sha256:" + aaa + "\n",
		"\n" + `files tool files.read {"description":"Reads \\u003c <a & b> \"file\".\u202e😀\n"`, `"maxLength":1.0`,
		"\nfiles tool files.long sha256:",
	} {
		assert.Containsf(t, string(content), want, "there is no %q in\n%s", want, content)
	}
	got, err := Parse("x", content)
	if err != nil || !reflect.DeepEqual(got.Plugins, l.Plugins) {
		t.Errorf("%v: %+v\nwant %+v", err, got, l)
	}
	for what, line := range map[string]string{
		"both kinds":  "files binary " + platform + " sha256:" + bbb,
		"twice":       "files tool files.read {}",
		"a bad name":  "files tool files/read {}",
		"not JSON":    "files tool files.write {",
		"no identity": "other definitions sha256:" + bbb + "\nother version 1\nother tool x {}",
	} {
		if _, err := Parse("x", append(content[:len(content):len(content)], line+"\n"...)); err == nil {
			t.Errorf("%s: it is read", what)
		}
	}
	for _, d := range []tool.Definition{{Name: "a b"}, {Name: "a\nb"}, {Name: ""}, {Name: "a", InputSchema: tool.Schema("{")}} {
		if _, err := Tools([]tool.Definition{d}); err == nil {
			t.Errorf("%q is taken", d.Name)
		}
	}
}

// What has changed in a definition is shown, from where it differs on, and no more than can be
// read. The version of a server does not count.
func TestChangesOfDefinitions(t *testing.T) {
	t.Parallel()
	before := definition(func(d *tool.Definition) { d.Description = strings.Repeat("a", 1000) + "end" })
	l := &Lock{Plugins: map[string]Entry{"files": server(t, "1", before)}}
	if err := l.Check("files", server(t, "2", before)); err != nil {
		t.Errorf("another version: %v", err)
	}
	many := []tool.Definition{before}
	for i := range 30 {
		many = append(many, definition(func(d *tool.Definition) { d.Name = fmt.Sprint("files.new", i) }))
	}
	for what, c := range map[string]struct {
		now  []tool.Definition
		want []string
	}{
		"a description": {
			[]tool.Definition{definition(func(d *tool.Definition) { d.Description = strings.Repeat("a", 1000) + "and \x1b[2Jmore" })},
			[]string{"tool files.read: description was …aaa", `aend", is …aaa`, `and \u001b[2Jmore"`},
		},
		"a schema": {
			[]tool.Definition{definition(func(d *tool.Definition) {
				d.Description = before.Description
				d.InputSchema = tool.Schema(`{"type":"object","properties":{"path":{"type":"integer","maxLength":1.0},"key":{}}}`)
			})},
			[]string{`input_schema.properties.path.type was "string", is "integer"`, "input_schema.properties.key is new: {}"},
		},
		"gone":     {nil, []string{"tool files.read is gone"}},
		"too much": {many, []string{"tool files.new0 is new", "and 20 more changes"}},
	} {
		err := l.Check("files", server(t, "1", c.now...))
		if err == nil {
			t.Errorf("%s: it is as pinned", what)
			continue
		}
		for _, want := range c.want {
			assert.Containsf(t, err.Error(), want, "%s: there is no %q in %v", what, want, err)
		}
		if text := err.Error(); len(text) > 6000 || strings.ContainsAny(text, "\x1b\u202e\n") {
			t.Errorf("%s: it cannot be shown: %q", what, text)
		}
	}
	d := Compare(l, &Lock{Plugins: map[string]Entry{"files": server(t, "1", definition())}})
	if text, err := json.Marshal(d); err != nil || len(d) != 1 || len(d[0].Changes) != 1 || d[0].Changes[0].Field != "description" {
		t.Errorf("%v: %s", err, text)
	}
	other := server(t, "1", before)
	other.Identity = bbb
	assert.ErrorContainsf(t, l.Check("files", other), "it is sha256:"+bbb+", pinned is sha256:"+aaa, "another server")
	if err := l.CheckBinary("files", ccc); err == nil {
		t.Error("a binary is taken for the server")
	}
}
