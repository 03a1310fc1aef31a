package lockfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

var (
	aaa = strings.Repeat("a", 64)
	bbb = strings.Repeat("b", 64)
	ccc = strings.Repeat("c", 64)
)

func example() *Lock {
	return &Lock{Plugins: map[string]Entry{
		"fs": {SHA256: aaa, Definitions: bbb, Version: "1.2.0"}, "buffer": {SHA256: bbb, Definitions: ccc, Version: ""}, "0_x.Y-z": {SHA256: ccc, Definitions: aaa, Version: "a \"b\"\n\u202e"},
	}}
}

var written = head + `format 2

0_x.Y-z binary ` + platform + ` sha256:` + ccc + `
0_x.Y-z definitions sha256:` + aaa + `
0_x.Y-z version "a \"b\"\n\u202e"

buffer binary ` + platform + ` sha256:` + bbb + `
buffer definitions sha256:` + ccc + `
buffer version ""

fs binary ` + platform + ` sha256:` + aaa + `
fs definitions sha256:` + bbb + `
fs version 1.2.0
`

func TestWriteAndRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "toolhost.lock")
	for _, l := range []*Lock{example(), {}, example()} { // the second replaces the first
		require.NoError(t, l.Write(path))
		got, err := Read(path)
		if err != nil || len(got.Plugins) != len(l.Plugins) || len(l.Plugins) > 0 && !reflect.DeepEqual(got.Plugins, l.Plugins) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	content, err := os.ReadFile(path)
	if err != nil || string(content) != written {
		t.Errorf("%v:\n%s\nwant\n%s", err, content, written)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v are left", entries, err)
	}
	if l, err := Parse("x", []byte(strings.ReplaceAll(written, "\n", "\r\n"))); err != nil || !reflect.DeepEqual(l, example()) {
		t.Errorf("with CRLF: %v, %v", l, err)
	}
}

// Readers find one of the locks whole while others write.
func TestWriteIsAtomic(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "toolhost.lock")
	locks := []*Lock{example(), {Plugins: map[string]Entry{"fs": {SHA256: bbb, Definitions: bbb, Version: "2"}}}}
	require.NoError(t, locks[0].Write(path))
	var writers sync.WaitGroup
	for _, l := range locks {
		writers.Go(func() {
			for range 50 {
				assert.NoError(t, l.Write(path))
			}
		})
	}
	for range 200 {
		l, err := Read(path)
		if err != nil || !reflect.DeepEqual(l, locks[0]) && !reflect.DeepEqual(l, locks[1]) {
			t.Errorf("%v, %v", l, err)
		}
	}
	writers.Wait()
}

func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "toolhost.lock")
	require.NoError(t, example().Write(path))
	for name, l := range map[string]*Lock{
		"a name":       {Plugins: map[string]Entry{"a b": {SHA256: aaa, Definitions: bbb, Version: ""}}},
		"no digest":    {Plugins: map[string]Entry{"a": {SHA256: "", Definitions: bbb, Version: ""}}},
		"upper case":   {Plugins: map[string]Entry{"a": {SHA256: strings.ToUpper(aaa), Definitions: bbb, Version: ""}}},
		"long version": {Plugins: map[string]Entry{"a": {SHA256: aaa, Definitions: bbb, Version: strings.Repeat("v", 257)}}},
		"not UTF-8":    {Plugins: map[string]Entry{"a": {SHA256: aaa, Definitions: bbb, Version: "\xff"}}},
	} {
		if err := l.Write(path); err == nil {
			t.Errorf("%s is written", name)
		}
	}
	err := example().Write(filepath.Join(dir, "none", "toolhost.lock"))
	if tool.CodeOf(err) != tool.CodeUnavailable || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "taken"), 0o700))
	if err := example().Write(filepath.Join(dir, "taken")); err == nil {
		t.Error("a directory is replaced")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v are left", entries, err)
	}
	if l, err := Read(path); err != nil || !reflect.DeepEqual(l, example()) {
		t.Errorf("the old lock is %v, %v", l, err)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	const begin = "format 2\n"
	binary, definitions := "a binary "+platform+" sha256:"+aaa+"\n", "a definitions sha256:"+bbb+"\n"
	digest := func(s string) string { return begin + "a definitions " + s + "\n" }
	version := func(s string) string { return begin + binary + definitions + "a version " + s + "\n" }
	for text, want := range map[string]string{
		"":                                      "l:1: the file is empty",
		"# c\n\n":                               "l:2: the file is empty",
		"{}\n":                                  "l:1: expected format 2, got \"{}\"",
		"format\n":                              "l:1: expected format 2",
		"format 4\n":                            "l:1: format 4 is newer than 3, the newest that this toolhost knows: use the toolhost that wrote it",
		"format 0\n":                            "l:1: expected format 2",
		"format 99999999999\n":                  "l:1: expected format 2",
		"\xff\n":                                "l:1: the file is not UTF-8",
		"\x00\x01\n":                            "l:1: expected format 2, got \"\\x00\\x01\"",
		begin + "a":                             "l:2: the last line has no end",
		begin + "a\n":                           "l:2: expected a plugin's name",
		begin + "-a binary x\n":                 "l:2: expected a plugin's name",
		begin + " a binary x\n":                 "l:2: expected a plugin's name",
		begin + "<<<<<<< ours\n":                "l:2: expected a plugin's name",
		begin + "a size 5\n":                    "l:2: unknown fact \"size\": a newer toolhost may have written",
		begin + "a binary sha256:" + aaa + "\n": "l:2: binary of a: expected a platform such as",
		begin + "a binary linux/ sha256:" + aaa + "\n":   "l:2: binary of a: expected a platform such as",
		begin + "a binary linux/amd64 md5:" + aaa + "\n": "l:2: binary of a: expected sha256: and 64",
		"format 1\n" + binary:                            "l:2: binary of a: expected sha256: and 64",
		digest("sha256:" + aaa[1:]):                      "l:2: definitions of a: expected sha256: and 64",
		digest("sha256:" + aaa + "a"):                    "l:2: definitions of a: expected sha256: and 64",
		digest("sha256:" + aaa + " "):                    "l:2: definitions of a: expected sha256: and 64",
		digest("sha256:A" + aaa[1:]):                     "l:2: definitions of a: expected sha256: and 64",
		begin + binary + "\n" + binary:                   "l:4: \"a binary " + platform + "\" is there twice",
		begin + definitions + definitions:                "l:3: \"a definitions\" is there twice",
		begin + binary + definitions:                     "l:3: a has no line version: the file is cut off",
		begin + definitions + "a version 1\n":            "l:3: a has no line binary: the file is cut off",
		version(""):                                      "l:4: version of a: expected a version",
		version("1 2"):                                   "l:4: version of a: expected a version",
		version("\"1"):                                   "l:4: version of a: malformed quotes",
		version(strings.Repeat("1", 257)):                "l:4: version of a: it has more than 256",
		strings.Repeat("#", MaxSize+1):                   "l:1: the file has more than",
	} {
		l, err := Parse("l", []byte(text))
		if l != nil || err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "write the lock again") {
			t.Errorf("%.60q: %v, %v\nwant %s", text, l, err, want)
		}
	}
}

// A lock of format 1 pins what it pinned, and is written in the newest format.
func TestFormat1(t *testing.T) {
	t.Parallel()
	content := require.Must(os.ReadFile("testdata/format1.lock"))(t)
	l, err := Parse("l", content)
	if err != nil || !reflect.DeepEqual(l, example()) {
		t.Errorf("%+v, %v, want %+v", l, err, example())
	}
	if again, err := l.Bytes(); err != nil || string(again) != written {
		t.Errorf("%v:\n%s\nwant\n%s", err, again, written)
	}
	const twice = "fs version 1.2.0\n"
	if l, err := Parse("l", append(content, twice...)); err == nil {
		t.Errorf("with two versions: %+v", l)
	}
}

// Binaries for other platforms do not run here, and stay pinned as long as nothing but
// this platform's binary changes.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	const text = "format 2\nfs binary plan9/mips sha256:%s\nfs definitions sha256:%s\nfs version 1.2.0\n"
	before, err := Parse("l", fmt.Appendf(nil, text, ccc, bbb))
	require.NoError(t, err)
	assert.NoError(t, before.CheckListed("fs"))
	err = before.CheckBinary("fs", ccc)
	assert.ErrorContainsf(t, err, "the binary is sha256:"+ccc+", none is pinned for "+platform, "the binary for another platform")
	now := example()
	now.KeepPlatforms(before)
	content, err := now.Bytes()
	if err != nil || !strings.Contains(string(content), "fs binary plan9/mips sha256:"+ccc+"\n") {
		t.Errorf("it is not kept: %v\n%s", err, content)
	}
	back, err := Parse("l", content)
	if err != nil || !reflect.DeepEqual(back, now) {
		t.Errorf("it is read as %+v, %v", back, err)
	}
	now = &Lock{Plugins: map[string]Entry{"fs": {SHA256: aaa, Definitions: bbb, Version: "1.3.0"}}}
	now.KeepPlatforms(before)
	if content, err := now.Bytes(); err != nil || strings.Contains(string(content), "plan9") {
		t.Errorf("the binary of another version is kept: %v\n%s", err, content)
	}
	if content, err := before.Bytes(); err != nil || string(content) != head+strings.Replace(fmt.Sprintf(text, ccc, bbb), "\n", "\n\n", 1) {
		t.Errorf("%v\n%s", err, content)
	}
}

// A file that was cut anywhere is refused, or pins fewer plugins, so that less runs.
func TestParseTruncated(t *testing.T) {
	t.Parallel()
	for i := range len(written) {
		l, err := Parse("l", []byte(written[:i]))
		if err != nil {
			continue
		}
		for name, e := range l.Plugins {
			if !reflect.DeepEqual(e, example().Plugins[name]) {
				t.Errorf("cut at %d, %s is %v", i, name, e)
			}
		}
		if len(l.Plugins) >= 3 {
			t.Errorf("cut at %d: nothing is missing", i)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	l := example()
	assert.NoError(t, errors.Join(l.Check("fs", l.Plugins["fs"]), l.CheckBinary("fs", aaa)))
	for name, c := range map[string]struct {
		err  error
		want []string
	}{
		"other bytes":       {l.CheckBinary("fs", ccc), []string{"binary is sha256:" + ccc, "pinned is sha256:" + aaa}},
		"other definitions": {l.Check("fs", Entry{SHA256: aaa, Definitions: aaa, Version: "1.2.0"}), []string{"definitions are sha256:" + aaa, "pinned are sha256:" + bbb}},
		"other version":     {l.Check("fs", Entry{SHA256: aaa, Definitions: bbb, Version: "1.3.0"}), []string{`version is "1.3.0", pinned is "1.2.0"`}},
		"all":               {l.Check("fs", Entry{SHA256: bbb, Definitions: aaa, Version: "1"}), []string{"binary is", "definitions are", "version is"}},
		"not pinned":        {l.Check("new", Entry{SHA256: bbb, Definitions: aaa, Version: "1"}), []string{"not pinned, found sha256:" + bbb}},
		"in no lock":        {(&Lock{}).CheckBinary("fs", aaa), []string{"not pinned, found sha256:" + aaa}},
	} {
		if tool.CodeOf(c.err) != tool.CodeUnavailable {
			t.Errorf("%s: %v", name, c.err)
			continue
		}
		for _, want := range append(c.want, "if this is what you want to run: write the lock again") {
			assert.Containsf(t, c.err.Error(), want, "%s: %v\nwant %s", name, c.err, want)
		}
		if e := tool.AsError(c.err); !strings.HasPrefix(e.Message, "plugin "+e.Plugin+" does not run") || e.Plugin == "" || !e.Unsent || strings.Contains(e.Message, "\n") {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	current := &Lock{Plugins: map[string]Entry{
		"fs": {SHA256: ccc, Definitions: bbb, Version: "1.3.0\x1b"}, "buffer": {SHA256: bbb, Definitions: aaa, Version: ""}, "new": {SHA256: aaa, Definitions: aaa, Version: ""},
	}}
	const want = "0_x.Y-z: pinned as sha256:C, not found\n" +
		"buffer: the definitions are sha256:A, pinned are sha256:C\n" +
		"fs: the binary is sha256:C, pinned is sha256:A\n" +
		"fs: the version is \"1.3.0\\x1b\", pinned is \"1.2.0\"\n" +
		"new: not pinned, found sha256:A\n"
	short := strings.NewReplacer(aaa, "A", bbb, "B", ccc, "C")
	for range 5 {
		assert.Equal(t, short.Replace(Render(Compare(example(), current))), want)
	}
	if d := Compare(example(), example()); d != nil || Render(d) != "" {
		t.Errorf("%v", d)
	}
	if d := Compare(nil, nil); d != nil {
		t.Errorf("%v", d)
	}
	if d := Compare(nil, example()); len(d) != 3 || d[0].Kind != Added {
		t.Errorf("%v", d)
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	a := tool.Definition{Name: "a", Description: "d", InputSchema: json.RawMessage(`{"type": "object", "properties": {"x": {"maximum": 1.0}, "y": {}}}`)}
	b := tool.Definition{Name: "b", Description: "d"}
	digest := func(defs ...tool.Definition) string {
		t.Helper()
		d, err := Digest(defs)
		if err != nil || !isDigest(d) {
			t.Fatalf("%q, %v", d, err)
		}
		return d
	}
	want := digest(a, b)
	same := a
	same.InputSchema = json.RawMessage(`{"properties":{"y":{},"x":{"maximum":1.0}},"type":"object"}`)
	assert.Equalf(t, digest(b, same), want, "the order counts")
	other := a
	other.Safety = tool.Safe
	for name, defs := range map[string][]tool.Definition{
		"fewer": {a}, "more": {a, b, b}, "none": {}, "another level": {other, b},
		"another schema": {{Name: "a", Description: "d", InputSchema: json.RawMessage(`{}`)}, b},
	} {
		if digest(defs...) == want {
			t.Errorf("%s has the same digest", name)
		}
	}
	if _, err := Digest([]tool.Definition{{Name: "a", InputSchema: json.RawMessage(`{`)}}); err == nil {
		t.Error("a broken schema has a digest")
	}
}

func FuzzParse(f *testing.F) {
	needs := strings.Replace(written, "fs definitions", "fs needs "+platform+" {\"net\":[\"a.example:1\"]}\nfs definitions", 1)
	for _, seed := range []string{written, needs, "", "format 1\n", "format 2\n", "format 2\na version \"\\x00\"\n", strings.ReplaceAll(written, "fs ", "buffer ")} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		l, err := Parse("l", content)
		if err != nil {
			return
		}
		again := require.Must(l.Bytes())(t)
		back, err := Parse("l", again)
		if err != nil || !reflect.DeepEqual(l, back) {
			t.Errorf("%v, %v; was %v", back, err, l)
		}
	})
}
