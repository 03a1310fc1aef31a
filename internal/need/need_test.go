package need

import (
	"fmt"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	many := make([]string, MaxEntries+1)
	for i := range many {
		many[i] = fmt.Sprintf("/%d", i)
	}
	long := make([]string, 17)
	for i := range long {
		long[i] = fmt.Sprintf("/%d", i) + strings.Repeat("x", 4000)
	}
	for _, n := range []*tool.Needs{
		nil, {},
		{Read: []string{tool.Workspace, tool.Cache, tool.Any, "/usr/share/", "~/", "/system", "/process", "~/.config/x y", "/a..b/...", "/schön"}},
		{Write: []string{tool.Workspace, tool.Cache, tool.Any, "/var/tmp"}},
		{Net: []string{
			tool.Any, "api.example.com:443", "API.Example.com:1", "*.example.com:443", "192.0.2.7:5432", "[2001:db8::1]:53", "[::1]:65535",
			"localhost:8080", "api.example.com:*", "_srv.a-b.example:80", "xn--bcher-kva.example:443",
		}},
		{Exec: []string{tool.Any, tool.Workspace, tool.Cache, "~/.pyenv", "git", "g++", "python3.12", "/usr/bin/env", "/usr/lib/git-core/"}},
		{Memory: 1 << 20, CPU: 0.01}, {Memory: 1 << 50, CPU: 65536}, {Read: many[:MaxEntries]},
	} {
		if err := Check(n); err != nil {
			t.Errorf("%v: %v", n, err)
		}
	}
	for want, n := range map[string]tool.Needs{
		`read "": it is empty`:                                              {Read: []string{""}},
		`read "x`:                                                           {Read: []string{strings.Repeat("x", MaxLength+1)}},
		`write "\xff": it is not UTF-8`:                                     {Write: []string{"\xff"}},
		`exec "a\x00": it has a control`:                                    {Exec: []string{"a\x00"}},
		`net "a:1\n": it has a control`:                                     {Net: []string{"a:1\n"}}, // Quote trims newlines
		`read "/\u202ex": it has a control or hidden`:                       {Read: []string{"/\u202ex"}},
		`read " /x": it has white space`:                                    {Read: []string{" /x"}},
		`read "x": it is neither an absolute path`:                          {Read: []string{tool.Workspace, "x"}},
		`write "./x": it is neither`:                                        {Write: []string{"./x"}},
		`read "~x": it is neither`:                                          {Read: []string{"~x"}},
		`read "workspace/x": it is neither`:                                 {Read: []string{"workspace/x"}},
		`read "/a/../b": it has .. in it`:                                   {Read: []string{"/a/../b"}},
		`read "~/..": it has .. in it`:                                      {Read: []string{"~/.."}},
		`write "/": it is everything: write any`:                            {Write: []string{"/"}},
		`exec "//.": it is everything`:                                      {Exec: []string{"//."}},
		`read "/proc": it shows or changes`:                                 {Read: []string{"/proc"}},
		`write "/./sys/fs/": it shows or changes`:                           {Write: []string{"/./sys/fs/"}},
		`exec "bin/x": it is neither a name`:                                {Exec: []string{"bin/x"}},
		`exec "~/../a": it has .. in it`:                                    {Exec: []string{"~/../a"}},
		`exec "..": it is neither a name`:                                   {Exec: []string{".."}},
		`exec "/a/../b": it has .. in it`:                                   {Exec: []string{"/a/../b"}},
		`net "example.com": it has no port; write example.com:PORT`:         {Net: []string{"example.com"}},
		`net "https://example.com:443": it is a URL; write example.com:443`: {Net: []string{"https://example.com:443"}},
		`net "10.0.0.0/8:443": a range of addresses`:                        {Net: []string{"10.0.0.0/8:443"}},
		`net "a@b:1": it names a user; write b:1`:                           {Net: []string{"a@b:1"}},
		`net "::1:53": it has no port`:                                      {Net: []string{"::1:53"}},
		`net "[::1]": it has no port; write [::1]:PORT`:                     {Net: []string{"[::1]"}},
		`net "[192.0.2.7]:53": it is not an IPv6 address`:                   {Net: []string{"[192.0.2.7]:53"}},
		`net "*:443": it is too wide`:                                       {Net: []string{"*:443"}},
		`net "*:*": it is too wide`:                                         {Net: []string{"*:*"}},
		`net "*.com:443": it is too wide`:                                   {Net: []string{"*.com:443"}},
		`net "*.example.com:*": it is too wide`:                             {Net: []string{"*.example.com:*"}},
		`net "localhost:*": it is too wide`:                                 {Net: []string{"localhost:*"}},
		`net "a.*.com:443": a star stands`:                                  {Net: []string{"a.*.com:443"}},
		`net "*example.com:443": it is too wide`:                            {Net: []string{"*example.com:443"}},
		`net "a.example:0": a port is`:                                      {Net: []string{"a.example:0"}},
		`net "a.example:65536": a port is`:                                  {Net: []string{"a.example:65536"}},
		`net "a.example:080": a port is`:                                    {Net: []string{"a.example:080"}},
		`net "a.example:+80": a port is`:                                    {Net: []string{"a.example:+80"}},
		`net "a.example:": a port is`:                                       {Net: []string{"a.example:"}},
		`net ":443": the host is missing`:                                   {Net: []string{":443"}},
		`net "a..b:443": each part`:                                         {Net: []string{"a..b:443"}},
		`net "a.example.:443": each part`:                                   {Net: []string{"a.example.:443"}},
		`net "-a.example:443": no part of a name`:                           {Net: []string{"-a.example:443"}},
		`net "аpple.com:443": a name has only letters`:                      {Net: []string{"аpple.com:443"}}, // the first letter is Cyrillic
		`net "127.1:443": an IPv4 address`:                                  {Net: []string{"127.1:443"}},
		`net "2130706433:443": an IPv4 address`:                             {Net: []string{"2130706433:443"}},
		`net "0x7f.0x1:443": an IPv4 address`:                               {Net: []string{"0x7f.0x1:443"}},
		`net "0.0.0.0:443": that address does not stand`:                    {Net: []string{"0.0.0.0:443"}},
		`net "[ff02::1]:443": that address does not stand`:                  {Net: []string{"[ff02::1]:443"}},
		`net "[::ffff:127.0.0.1]:443": it is an IPv4 address`:               {Net: []string{"[::ffff:127.0.0.1]:443"}},
		`net "[fe80::1%eth0]:443": addresses have no zone`:                  {Net: []string{"[fe80::1%eth0]:443"}},
		"write has 257 entries":                                             {Write: many},
		"the entries have 68":                                               {Read: long},
		"memory is -1":                                                      {Memory: -1},
		"memory is 1048575":                                                 {Memory: 1<<20 - 1},
		"memory is 1125899906842625":                                        {Memory: 1<<50 + 1},
		"cpu is -1":                                                         {CPU: -1},
		"cpu is NaN":                                                        {CPU: math.NaN()},
		"cpu is +Inf":                                                       {CPU: math.Inf(1)},
		"cpu is 0.001":                                                      {CPU: 0.001},
		"cpu is 65537":                                                      {CPU: 65537},
	} {
		err := Check(&n)
		if tool.CodeOf(err) != tool.CodeInvalidDefinition || !strings.HasPrefix(err.Error(), "the declared needs are malformed: ") ||
			!strings.Contains(err.Error(), strings.ReplaceAll(want, `\n"`, `"`)) || len(err.Error()) > 400 {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

func TestNormal(t *testing.T) {
	t.Parallel()
	n := tool.Needs{
		Read: []string{"~//a/", "/b/./c/", tool.Workspace, "/b//c", "~/"}, Write: []string{}, Exec: []string{"git", "cc", "git"},
		Net: []string{"B.example:1", "[2001:DB8::0:1]:53", "b.example:1"}, Memory: 3 << 20, CPU: 0.5,
	}
	want := &tool.Needs{
		Read: []string{"/b/c", tool.Workspace, "~/", "~/a"}, Exec: []string{"cc", "git"},
		Net: []string{"[2001:db8::1]:53", "b.example:1"}, Memory: 3 << 20, CPU: 0.5,
	}
	if got := Normal(&n); !reflect.DeepEqual(got, want) || !reflect.DeepEqual(Normal(got), want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if n.Exec[1] != "cc" || Normal(nil) != nil {
		t.Error("it is changed, or nothing becomes something")
	}
	for text, n := range map[string]*tool.Needs{
		"undeclared": nil, "nothing": {}, "memory 1048577 bytes; cpu 0.5": {Memory: 1<<20 + 1, CPU: 0.5},
		"read /b/c, workspace, ~/, ~/a; net [2001:db8::1]:53, b.example:1; exec cc, git; memory 3 MiB; cpu 0.5": want,
	} {
		assert.Equalf(t, n.String(), text, "%s, want %s", n, text)
	}
}

// What is new or larger is said, line by line; what another entry covers already does not
// count.
func TestChanges(t *testing.T) {
	t.Parallel()
	full := &tool.Needs{
		Read: []string{"/usr/share", "~/.config"}, Write: []string{tool.Workspace, "/var/x"}, Net: []string{"*.example.com:443", "db.example:*"},
		Exec: []string{"git", "/usr/lib/git-core"}, Memory: 256 << 20, CPU: 1,
	}
	for name, c := range map[string]struct {
		before, now *tool.Needs
		larger, all string
	}{
		"the same": {before: full, now: full},
		"in another form": {before: full, now: &tool.Needs{
			Read: []string{"~/.config/", "/usr//share"}, Write: []string{"/var/x", tool.Workspace}, Net: []string{"db.example:*", "*.Example.com:443"},
			Exec: full.Exec, Memory: 256 << 20, CPU: 1,
		}},
		"both undeclared": {},
		"less":            {before: full, now: &tool.Needs{Memory: 1 << 20, CPU: 0.5}, all: "read: /usr/share is gone; read: ~/.config is gone; write: /var/x is gone; write: workspace is gone; net: *.example.com:443 is gone; net: db.example:* is gone; exec: /usr/lib/git-core is gone; exec: git is gone; memory: 1 MiB, was 256 MiB; cpu: 0.5, was 1"},
		"covered": {
			before: full, now: &tool.Needs{
				Read: []string{"/usr/share/dict", tool.Workspace, "/var/x/y", "~/.config/z"}, Write: []string{"/var/x/y"},
				Net: []string{"a.example.com:443", "*.b.example.com:443", "db.example:5432"}, Exec: []string{"/usr/lib/git-core/git-log"},
				Memory: 256 << 20, CPU: 1,
			},
			all: "read: /usr/share/dict is new; read: /var/x/y is new; read: workspace is new; read: ~/.config/z is new; read: /usr/share is gone; read: ~/.config is gone; write: /var/x/y is new; write: /var/x is gone; write: workspace is gone; net: *.b.example.com:443 is new; and 7 more changes",
		},
		"written, was read": {before: &tool.Needs{Read: []string{"/a"}}, now: &tool.Needs{Write: []string{"/a"}}, larger: "write: /a is new", all: "read: /a is gone; write: /a is new"},
		"wider": {
			before: &tool.Needs{Read: []string{"/a/b", "~/a"}, Net: []string{"a.example.com:443", "*.x.example.com:1"}, Exec: []string{"/bin/git"}},
			now:    &tool.Needs{Read: []string{"/a", "~/"}, Net: []string{"*.example.com:443", "x.example.com:1"}, Exec: []string{"git"}},
			larger: "read: /a is new; read: ~/ is new; net: *.example.com:443 is new; net: x.example.com:1 is new; exec: git is new",
		},
		"next to it": {
			before: &tool.Needs{Read: []string{"/a"}, Net: []string{"a.example:443", "192.0.2.7:1"}},
			now:    &tool.Needs{Read: []string{"/ab"}, Net: []string{"a.example:80", "a.example:*", "192.0.2.8:1", "b.a.example:443", tool.Any}},
			larger: "read: /ab is new; net: 192.0.2.8:1 is new; net: a.example:* is new; net: a.example:80 is new; net: any is new; net: b.a.example:443 is new",
		},
		"within everything": {
			before: &tool.Needs{Read: []string{tool.Any}, Write: []string{tool.Any}, Net: []string{tool.Any}, Exec: []string{tool.Any}},
			now:    &tool.Needs{Read: []string{"/a", "~/b", tool.Workspace, tool.Any}, Write: []string{"/c", "~/b"}, Net: []string{"a.example:1"}, Exec: []string{"git"}, Memory: 5 << 30},
		},
		"larger values":           {before: &tool.Needs{Memory: 256 << 20, CPU: 0.5}, now: &tool.Needs{Memory: 512 << 20, CPU: 2}, larger: "memory: 512 MiB, was 256 MiB; cpu: 2, was 0.5"},
		"values not said":         {before: &tool.Needs{Memory: 1 << 30, CPU: 0.5}, now: &tool.Needs{}, larger: "memory: not said, was 1 GiB; cpu: not said, was 0.5"},
		"values that were not":    {before: &tool.Needs{}, now: &tool.Needs{Memory: 1 << 30, CPU: 0.5}, all: "memory: 1 GiB, was not said; cpu: 0.5, was not said"},
		"not declared any more":   {before: &tool.Needs{Exec: []string{"git"}}, larger: "it does not declare any more what it needs, which was: exec git"},
		"declared, and was not":   {now: &tool.Needs{}, all: "it declares what it needs, which it did not: nothing"},
		"the first and only need": {before: &tool.Needs{}, now: &tool.Needs{Net: []string{"a.example:443"}}, larger: "net: a.example:443 is new"},
	} {
		all := Changes(c.now, c.before)
		assert.Equalf(t, all.Larger().String(), c.larger, "%s: larger", name)
		if c.all != "" && all.String() != c.all {
			t.Errorf("%s: %s\nwant %s", name, all, c.all)
		}
		if name == "the same" && all != nil {
			t.Errorf("%v", all)
		}
	}
}

// What a declaration and a ceiling both give is never more than either.
func TestWithin(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ now, ceiling, want *tool.Needs }{
		"neither":    {},
		"no ceiling": {now: &tool.Needs{Read: []string{"/b", "/a"}}, want: &tool.Needs{Read: []string{"/a", "/b"}}},
		"undeclared": {ceiling: &tool.Needs{Net: []string{"a.example:1"}, CPU: 1}, want: &tool.Needs{Net: []string{"a.example:1"}, CPU: 1}},
		"nothing":    {now: &tool.Needs{}, ceiling: &tool.Needs{Read: []string{tool.Any}}, want: &tool.Needs{}},
		"lists": {
			now: &tool.Needs{
				Read: []string{"/usr", "/etc/x"}, Write: []string{tool.Workspace, "/var/x"}, Net: []string{"*.example.com:443", "db.example:1"}, Exec: []string{tool.Any},
			},
			ceiling: &tool.Needs{
				Read: []string{"/usr/share", "/etc", "/var/x"}, Write: []string{tool.Workspace, tool.Cache}, Net: []string{"a.example.com:443", "db.example:*"}, Exec: []string{"git"},
			},
			want: &tool.Needs{
				Read: []string{"/etc/x", "/usr/share", "/var/x"}, Write: []string{tool.Workspace}, Net: []string{"a.example.com:443", "db.example:1"}, Exec: []string{"git"},
			},
		},
		"values":   {now: &tool.Needs{Memory: 2 << 20}, ceiling: &tool.Needs{Memory: 1 << 20, CPU: 2}, want: &tool.Needs{Memory: 1 << 20, CPU: 2}},
		"values 2": {now: &tool.Needs{CPU: 1}, ceiling: &tool.Needs{Memory: 1 << 20, CPU: 2}, want: &tool.Needs{Memory: 1 << 20, CPU: 1}},
	} {
		got := Within(c.now, c.ceiling)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		for side, of := range map[string]*tool.Needs{"declared": c.now, "accepted": c.ceiling} {
			if more := Changes(got, of).Larger(); of != nil && more != nil {
				t.Errorf("%s: more than %s: %v", name, side, more)
			}
		}
	}
}

// FuzzNeeds: what passes Check has one form, which passes too; and what two declarations
// both give is never more than either of them, and all of the one that does not exceed the
// other. Declarations are drawn from entries that have to do with each other, and one that
// is given.
func FuzzNeeds(f *testing.F) {
	paths := []string{tool.Workspace, tool.Cache, tool.Any, "/a", "/a/b/", "/a//b/c", "/ab", "~/", "~/a", "~/a/./b"}
	hosts := []string{tool.Any, "*.example.com:443", "*.a.example.com:443", "A.example.com:443", "a.example.com:*", "example.com:443", "[2001:DB8::1]:1", "[2001:db8::0:1]:1", "192.0.2.1:1"}
	programs := []string{tool.Any, "git", "/a", "/a/git", "/a/b/git"}
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, "/x")
	f.Add([]byte{0, 0, 1, 0, 2, 3, 0, 1, 2, 4, 0, 9, 8, 7, 4, 3, 2}, "b.example:1")
	f.Fuzz(func(t *testing.T, choice []byte, own string) {
		draw := func(from []string) (out []string) {
			for len(choice) > 0 && choice[0]%4 != 0 && len(out) < 4 {
				i := int(choice[0]/4) % (len(from) + 1)
				out = append(out, append(from[:len(from):len(from)], own)[i])
				choice = choice[1:]
			}
			choice = choice[min(1, len(choice)):]
			return out
		}
		one := func() *tool.Needs {
			n := &tool.Needs{Read: draw(paths), Write: draw(paths), Net: draw(hosts), Exec: draw(programs)}
			n.Memory, n.CPU = int64(len(choice)%3)<<20, float64(len(choice)%5)
			return n
		}
		a, b := one(), one()
		if Check(a) != nil || Check(b) != nil {
			return
		}
		for _, n := range []*tool.Needs{a, b} {
			if normal := Normal(n); Check(normal) != nil || !reflect.DeepEqual(normal, Normal(normal)) || Changes(n, normal) != nil {
				t.Errorf("%v is %v, which is %v, %v", n, normal, Normal(normal), Check(normal))
			}
		}
		both := Within(a, b)
		assert.NoError(t, Check(both))
		if more := Changes(both, a).Larger(); more != nil {
			t.Errorf("%v within %v is %v: %v", a, b, both, more)
		}
		if more := Changes(both, b).Larger(); more != nil {
			t.Errorf("%v within %v is %v: %v", a, b, both, more)
		}
		if Changes(a, b).Larger() == nil && Changes(a, both).Larger() != nil {
			t.Errorf("%v does not exceed %v, and both give %v only", a, b, both)
		}
	})
}
