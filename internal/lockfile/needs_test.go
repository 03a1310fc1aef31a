package lockfile

import (
	"reflect"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/need"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// declaring is an entry of a plugin that declares needs.
func declaring(n *tool.Needs) Entry {
	return Entry{SHA256: aaa, Definitions: bbb, Version: "1", Needs: NeedsText(n)}
}

// Needs are a line that people can read, for this platform, and come back from it as they were.
func TestNeedsInALock(t *testing.T) {
	t.Parallel()
	full := &tool.Needs{Read: []string{"/a <b> &", "/é"}, Net: []string{"b.example:1", "A.example:443"}, Memory: 1 << 40, CPU: 0.5}
	l := &Lock{Plugins: map[string]Entry{"full": declaring(full), "none": declaring(&tool.Needs{}), "mute": declaring(nil)}}
	content := require.Must(l.Bytes())(t)
	for _, want := range []string{
		"\nfull needs " + platform + ` {"cpu":0.5,"memory":1099511627776,"net":["a.example:443","b.example:1"],"read":["/a <b> &","/é"]}` + "\n",
		"\nmute needs " + platform + " undeclared\n", "\nnone needs " + platform + " {}\n",
	} {
		assert.Containsf(t, string(content), want, "there is no %q in\n%s", want, content)
	}
	got, err := Parse("x", content)
	if err != nil || !reflect.DeepEqual(got, l) {
		t.Errorf("%v: %+v\nwant %+v", err, got, l)
	}
	for name, want := range map[string]*tool.Needs{"full": need.Normal(full), "none": {}, "mute": nil} {
		if n, pinned := got.Needs(name); !pinned || !reflect.DeepEqual(n, want) {
			t.Errorf("%s: %v, %v", name, n, pinned)
		}
	}
	if n, pinned := example().Needs("fs"); n != nil || pinned {
		t.Errorf("an older lock pins %v", n)
	}
	other := strings.Replace(string(content), `["a.example:443","b.example:1"]`, ` [ "B.example:1", "a.example:443" ]`, 1)
	if got, err := Parse("x", []byte(other)); err != nil || !reflect.DeepEqual(got, l) {
		t.Errorf("in another form: %v, %+v", err, got)
	}
	begin := "format 2\np binary " + platform + " sha256:" + aaa + "\np definitions sha256:" + bbb + "\np version 1\n"
	at := "p needs " + platform + " "
	for want, line := range map[string]string{
		"expected a platform":                       "p needs {}",
		"expected needs as JSON":                    at + "null",
		"that this toolhost knows":                  at + `{"gpu":1}`,
		"or undeclared":                             at + "Undeclared",
		"one JSON object":                           at + "{} {}",
		"net \"*:443\"":                             at + `{"net":["*:443"]}`,
		"memory is -1":                              at + `{"memory":-1}`,
		"is there twice":                            at + "{}\n" + at + "{}",
		"and no binary for plan9":                   "p needs plan9/mips {}",
		"q has needs and no binary for " + platform: "q binary plan9/mips sha256:" + aaa + "\nq definitions sha256:" + bbb + "\nq version 1\nq needs " + platform + " {}",
		"r has needs and no binary":                 "r identity sha256:" + aaa + "\nr definitions sha256:" + bbb + "\nr version 1\nr needs " + platform + " {}",
	} {
		if l, err := Parse("x", []byte(begin+line+"\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v\nwant %s", line, l, err, want)
		}
	}
}

// A plugin that declares more than is pinned is not as pinned; one that declares less is, and
// is a difference for people; one of which no needs are pinned is not judged by them.
func TestCheckNeeds(t *testing.T) {
	t.Parallel()
	pinned := &tool.Needs{Net: []string{"*.example.com:443"}, Memory: 256 << 20}
	for name, c := range map[string]struct {
		pinned, found Entry
		want          string // the difference
		refused       bool
	}{
		"the same":      {pinned: declaring(pinned), found: declaring(pinned)},
		"more":          {declaring(pinned), declaring(&tool.Needs{Net: []string{"*.example.com:443", "b.example:1"}, Memory: 512 << 20}), "net: b.example:1 is new; memory: 512 MiB, was 256 MiB", true},
		"less":          {declaring(pinned), declaring(&tool.Needs{Net: []string{"a.example.com:443"}, Memory: 256 << 20}), "net: a.example.com:443 is new; net: *.example.com:443 is gone", false},
		"nothing":       {declaring(pinned), declaring(&tool.Needs{Memory: 1 << 20}), "memory: 1 MiB, was 256 MiB", false},
		"undeclared":    {declaring(pinned), declaring(nil), "it does not declare any more what it needs", true},
		"declared":      {declaring(nil), declaring(pinned), "it declares what it needs, which it did not: net *.example.com:443", false},
		"not pinned":    {pinned: Entry{SHA256: aaa, Definitions: bbb, Version: "1"}, found: declaring(pinned)},
		"not described": {pinned: declaring(pinned), found: Entry{SHA256: aaa, Definitions: bbb, Version: "1"}},
	} {
		l := &Lock{Plugins: map[string]Entry{"p": c.pinned}}
		err := l.Check("p", c.found)
		if (err != nil) != c.refused || err != nil && (!strings.Contains(err.Error(), c.want) || tool.CodeOf(err) != tool.CodeUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
		if err := l.CheckBinary("p", aaa); err != nil {
			t.Errorf("%s: before it starts: %v", name, err)
		}
		text := Render(Compare(l, &Lock{Plugins: map[string]Entry{"p": c.found}}))
		if c.want == "" && text != "" || !strings.Contains(text, c.want) || c.want != "" && !strings.HasPrefix(text, "p: the needs differ from what is pinned: ") {
			t.Errorf("%s: %s\nwant %s", name, text, c.want)
		}
	}
	added := Compare(nil, &Lock{Plugins: map[string]Entry{"p": declaring(pinned), "q": declaring(nil)}})
	if text := Render(added); text != "p: not pinned, found sha256:"+aaa+", which needs: net *.example.com:443; memory 256 MiB\nq: not pinned, found sha256:"+aaa+"\n" {
		t.Errorf("%s", text)
	}
}

// What a plugin declares on another platform does not count here, and stays pinned.
func TestNeedsElsewhere(t *testing.T) {
	t.Parallel()
	text := "format 2\nfs binary plan9/mips sha256:" + ccc + "\nfs needs plan9/mips {\"read\":[\"/plan9\"]}\nfs definitions sha256:" + bbb + "\nfs version 1\n"
	before := require.Must(Parse("l", []byte(text)))(t)
	if n, pinned := before.Needs("fs"); pinned {
		t.Errorf("here %v is pinned", n)
	}
	now := &Lock{Plugins: map[string]Entry{"fs": declaring(&tool.Needs{Read: []string{"/linux"}})}}
	now.KeepPlatforms(before)
	content, err := now.Bytes()
	if err != nil || !strings.Contains(string(content), "\nfs needs plan9/mips {\"read\":[\"/plan9\"]}\n") || !strings.Contains(string(content), "/linux") {
		t.Errorf("%v:\n%s", err, content)
	}
	if back, err := Parse("l", content); err != nil || !reflect.DeepEqual(back, now) {
		t.Errorf("%v: %+v", err, back)
	}
}
