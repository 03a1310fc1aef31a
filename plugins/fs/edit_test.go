package main

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/plugins/internal/workspacetest"
)

func (p plugin) edit(t *testing.T, arguments args) editOut {
	t.Helper()
	return workspacetest.Decode[editOut](t, p.Tools, "fs.edit", arguments)
}

func TestEdit(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "file", "one two one\r\n")
	for _, c := range []struct {
		arguments args
		out       editOut
		text      string
	}{
		{args{"original": "two", "modified": "2"}, editOut{"file", 11, 1}, "one 2 one\r\n"},
		{args{"original": "one", "modified": "", "replace_all": true}, editOut{"file", 5, 2}, " 2 \r\n"},
		{args{"original": "\r\n", "modified": "é"}, editOut{"file", 5, 1}, " 2 é"},
		{args{"original": " 2 é", "modified": ""}, editOut{"file", 0, 1}, ""},
	} {
		c.arguments["path"] = "./file"
		assert.Equalf(t, p.edit(t, c.arguments), c.out, "%v", c.arguments)
		assert.Equalf(t, p.Must(t, "fs.read", args{"path": "file"}).Text(), c.text, "%v: the file has", c.arguments)
	}
	p.WriteFile(t, "file", "aa")
	if got := p.Must(t, "fs.edit", args{"path": "file", "original": "a", "modified": "b", "replace_all": true}).Text(); got != "Replaced 2 places in file, which has 2 bytes now." {
		t.Errorf("text = %q", got)
	}
}

// The lines of a file that all end in CRLF still do.
func TestEditKeepsCRLF(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "file", "one\r\ntwo\r\nthree")
	p.Must(t, "fs.edit", args{"path": "file", "original": "one\ntwo", "modified": "1\n2\r\n2"})
	p.WantFile(t, "file", "1\r\n2\r\n2\r\nthree")
	p.WriteFile(t, "mixed", "one\r\ntwo\n")
	p.Must(t, "fs.edit", args{"path": "mixed", "original": "two\n", "modified": "2\n2\r\n"})
	p.WantFile(t, "mixed", "one\r\n2\n2\r\n")
}

func TestEditRefusals(t *testing.T) {
	t.Parallel()
	p := start(t)
	const content = "aaa one one\r\nend\n"
	p.WriteFile(t, "file", content)
	for _, c := range []struct {
		path, original, modified string
		want                     string
	}{
		{"file", "two", "x", "file does not contain original, nor anything like it: it has changed, or original was not copied exactly"},
		{"file", "one", "x", "file contains original 2 times, in line 1 (include more of the surrounding lines"},
		{"file", "aa", "x", "file contains original 2 times, in line 1"}, // they overlap
		{"file", "one\nend", "x", "the line endings differ"},
		{"file", "end", "end", "original and modified are the same"},
		{"file", "", "x", "original is empty"},
		{"gone", "a", "x", "there is no file gone"},
		{"gone", "", "x", "original is empty"},
	} {
		arguments := args{"path": c.path, "original": c.original, "modified": c.modified}
		p.WantFailure(t, "fs.edit", arguments, c.want)
		if r, err := p.Preview(t.Context(), p.NewCall(t, "fs.edit", arguments)); err != nil || !r.IsError || !strings.Contains(r.Text(), c.want) {
			t.Errorf("the preview of %v = %q, %v", arguments, r.Text(), err)
		}
	}
	assert.Equalf(t, p.Must(t, "fs.read", args{"path": "file", "limit": maxRead}).Text(), content, "the file has")
}

func TestEditIsBounded(t *testing.T) {
	t.Parallel()
	p := start(t)
	content := strings.Repeat("a", 1<<20)
	p.WriteFile(t, "file", content)
	arguments := args{"path": "file", "original": "a", "modified": strings.Repeat("b", 1<<20), "replace_all": true} // 1 TiB
	p.WantFailure(t, "fs.edit", arguments, "file would be larger than 33554432 bytes")
	assert.Equalf(t, p.Must(t, "fs.read", args{"path": "file", "limit": maxRead}).Text(), content, "the file changed")
}

func TestEditPreview(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "file", "one\ntwo\none\n")
	r, err := p.Preview(t.Context(), p.NewCall(t, "fs.edit", args{"path": "file", "original": "one", "modified": "1", "replace_all": true}))
	if want := "--- a/file\n+++ b/file\n@@ -1,3 +1,3 @@\n-one\n+1\n two\n-one\n+1\n"; err != nil || r.IsError || r.Text() != want {
		t.Errorf("preview = %q, %v", r.Text(), err)
	}
	assert.Equalf(t, p.Must(t, "fs.read", args{"path": "file"}).Text(), "one\ntwo\none\n", "the file has")
}

func TestEditsAtOnceAreAllMade(t *testing.T) {
	t.Parallel()
	p := start(t)
	var before, after strings.Builder
	for i := range 20 {
		fmt.Fprintf(&before, "<%d>\n", i)
		fmt.Fprintf(&after, "[%d]\n", i)
	}
	p.WriteFile(t, "file", before.String())
	var editors sync.WaitGroup
	for i := range 20 {
		editors.Go(func() {
			r, err := p.Call(t, "fs.edit", args{"path": "file", "original": fmt.Sprintf("<%d>", i), "modified": fmt.Sprintf("[%d]", i)})
			if err != nil || r.IsError {
				t.Errorf("%v, %v", r.Text(), err)
			}
		})
	}
	editors.Wait()
	assert.Equalf(t, p.Must(t, "fs.read", args{"path": "file"}).Text(), after.String(), "the file has")
}

func TestSeveralEdits(t *testing.T) {
	t.Parallel()
	p := start(t)
	const content = "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 1\n}\n"
	p.WriteFile(t, "file", content)
	first := args{"original": "func a", "modified": "func aa"}
	p.fails(t, "fs.edit", args{"path": "file", "edits": []args{first, {"original": "return 1", "modified": "return 2"}}},
		"edit 2 of 2: file contains original 2 times, in lines 2, 6 (include more")
	p.fails(t, "fs.edit", args{"path": "file", "edits": []args{first}, "original": "x"}, "edits take the place of original")
	p.fails(t, "fs.edit", args{"path": "file"}, "give original and modified, or edits")
	p.fails(t, "fs.edit", args{"path": "file", "original": "x"}, "give original and modified, or edits")
	p.WantFile(t, "file", content)
	p.WantText(t, "fs.edit", args{"path": "file", "edits": []args{
		first, {"original": "aa() {\n\treturn 1", "modified": "aa() {\n\treturn 2"}, {"original": "1", "modified": "3", "replace_all": true},
	}}, "Replaced 3 places in file, which has 48 bytes now.")
	p.WantFile(t, "file", "func aa() {\n\treturn 2\n}\n\nfunc b() {\n\treturn 3\n}\n")
}

// A text that is not there exactly is looked for, but not shown: who may change a file may
// not always read it.
func TestEditNamesTheNearestText(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "file", "package a\n\nfunc open(name string) error {\n\tif name == \"\" {\n\t\treturn errEmpty\n\t}\n\treturn nil\n}\n")
	for original, want := range map[string]string{
		"  if name == \"\" {\n    return errEmpty":                                "(the most similar text is in lines 4 to 5, which differ in white space only; read it again)",
		"func open(path string) error {":                                          "(the most similar text is in line 3; read it again)",
		"func open(name string) error {\n\tif name != \"\" {\n\t\treturn errNone": "(the most similar text is in lines 3 to 5; read it again)",
		"something else altogether":                                               "file does not contain original, nor anything like it",
	} {
		arguments := args{"path": "file", "original": original, "modified": "x"}
		p.fails(t, "fs.edit", arguments, want)
		if r, _ := p.Call(t, "fs.edit", arguments); strings.Contains(r.Text(), "errEmpty") {
			t.Errorf("it shows the file: %s", r.Text())
		}
	}
	p.WriteFile(t, "wide", "\xff\xfea\x00")
	p.fails(t, "fs.edit", args{"path": "wide", "original": "a", "modified": "b"}, "wide is UTF-16, and edits are made in UTF-8")
}
