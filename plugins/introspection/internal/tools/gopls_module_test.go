package tools

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// The module that answers are checked on: 70,000 lines of Go, with generic
// functions, files for other platforms, and tests in the packages and next to them.
const (
	goplsModule    = "github.com/cilium/ebpf"
	goplsModuleTag = "v0.22.0"
	goplsModuleSum = "h1:v2ktp0roffpMOj2MMf3idtCQZOsAoC4BJbAJN+ke2bY="
)

// thirdParty is a copy of the module, with packages of ours besides its own
// that has what the module has too little of.
func thirdParty(t testing.TB) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", goplsModule+"@"+goplsModuleTag)
	cmd.Dir = t.TempDir() // no module: what this one requires does not matter
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.Output()
	var found struct{ Dir, Sum, Error string }
	if json.Unmarshal(out, &found) != nil || err != nil || found.Error != "" {
		t.Fatalf("module %s@%s cannot be had; the first time it comes through the Go module proxy, so the network is needed: %v\n%s%s",
			goplsModule, goplsModuleTag, err, found.Error, failure.String())
	}
	if found.Sum != goplsModuleSum {
		t.Fatalf("module %s@%s has the sum %s, want %s", goplsModule, goplsModuleTag, found.Sum, goplsModuleSum)
	}
	root := require.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	require.NoError(t, os.CopyFS(root, os.DirFS(found.Dir)))
	write(t, root, specimens)
	// What tests import is fetched now, so that no question waits for it.
	fetch := exec.CommandContext(t.Context(), "go", "list", "-deps", "-test", "./...")
	fetch.Dir = root
	if out, err := fetch.CombinedOutput(); err != nil {
		t.Fatalf("the packages of %s cannot be listed; the first time their dependencies come through the Go module proxy: %v\n%s", goplsModule, err, out)
	}
	return root
}

// specimens are the packages of ours. A comment "// promoted T.M" after a selector
// says that what it selects is T's by two embeddings.
var specimens = map[string]string{
	"specimen/base/base.go": `// Package base has what others embed.
package base

import "io"

// Base is at the bottom.
type Base struct {
	Depth int
	Names []string
}

// Deep is promoted.
func (b *Base) Deep(n int) error { b.Depth += n; return nil }

// Shallow has no pointer.
func (b Base) Shallow() (int, string) { return b.Depth, b.Names[0] }

// Box is generic.
type Box[T any] struct {
	Content T
	Count   int
}

// Put fills the box.
func (b *Box[T]) Put(v T) *Box[T] { b.Content, b.Count = v, b.Count+1; return b }

// Get empties it.
func (b *Box[T]) Get() (v T) { v, b.Count = b.Content, b.Count-1; return v }

// Store is satisfied elsewhere.
type Store interface {
	Save(key string, w io.Writer) error
	io.Closer
}

// Getter is generic and satisfied elsewhere.
type Getter[T any] interface{ Get() T }

// Each calls f for each of values.
func Each[S ~[]E, E any](values S, f func(E) bool) (n int) {
	for _, v := range values {
		if f(v) {
			n++
		}
	}
	return n
}

// Run saves through the interface.
func Run(s Store) error {
	defer s.Close()
	return s.Save("run", io.Discard)
}

// Limit is changed and read.
var Limit = 10

// Table is written in parts.
var Table struct {
	Rows  [4]int
	Title string
}
`,
	"specimen/middle/middle.go": `// Package middle embeds.
package middle

import (
	"io"

	"github.com/cilium/ebpf/specimen/base"
)

// Middle embeds by pointer.
type Middle struct {
	*base.Base
	base.Box[string]
	io.Reader
}

// Outer embeds what embeds.
type Outer struct {
	Middle
	Depth2 int
}

// Generic embeds with its own parameter.
type Generic[K comparable] struct{ base.Box[map[K]int] }

// Twice embeds an instance.
type Twice struct{ Generic[string] }

// Disk satisfies base.Store from another package.
type Disk struct{ Outer }

// Save is one method of two.
func (d *Disk) Save(key string, w io.Writer) error {
	_, err := io.WriteString(w, key)
	return err
}

// Close is promoted to what embeds a Disk.
func (d *Disk) Close() error { return d.Deep(1) }

// Raid satisfies base.Store by promotion alone.
type Raid struct {
	*Disk
	spare int
}

var _ base.Store = (*Raid)(nil)

func use(o *Outer, t *Twice, r Raid) {
	_ = o.Deep(1)     // promoted Outer.Deep
	_, _ = o.Shallow() // promoted Outer.Shallow
	_ = o.Depth       // promoted Outer.Depth
	o.Names = nil     // promoted Outer.Names
	o.Put("x")        // promoted Outer.Put
	_ = o.Get()       // promoted Outer.Get
	_ = o.Content     // promoted Outer.Content
	o.Count++         // promoted Outer.Count
	_, _ = o.Read(nil) // promoted Outer.Read
	_ = t.Get()       // promoted Twice.Get
	t.Put(nil)        // promoted Twice.Put
	_ = t.Content     // promoted Twice.Content
	r.spare, r.Depth2 = 1, 2
	_ = base.Run(r)
	_ = base.Run(&Disk{Outer: *o})
	base.Limit++
	base.Limit = base.Limit * 2
	p := &base.Limit
	*p = 1
	base.Table.Rows[1] = 2
	base.Table.Title += "x"
	go o.Deep(2)
	defer o.Deep(3)
	f := o.Deep
	_ = f(4)
	_ = (*base.Base).Deep
	base.Each([]int{1}, func(int) bool { return true })
	_ = base.Each[[]string, string]
}
`,
	"specimen/shadow/shadow.go": `// Package shadow uses its names for several things.
package shadow

import (
	"fmt"
	. "strings"

	base "github.com/cilium/ebpf/specimen/middle"
	str "strings"
)

// name is a variable, a parameter, a field and a method.
var name = "outer"

// count is a constant, and a variable below.
const count = 1

// len hides what is built in.
func len(s string) int { return count }

// item is a type, and a variable below.
type item struct {
	name  string
	item  *item
	count int
}

// Name returns what is called like it.
func (i *item) Name() string { return i.name + name }

func (i item) fmt() string { return fmt.Sprint(i, name) }

// String is a function; another is a method.
func String(name string) string {
	count := len(name)
	{
		name := name + str.ToUpper(name)
		count := count + 1
		_ = fmt.Sprint(name, count)
	}
	if name := name; name == "" {
		return name
	}
	for name := range count {
		_ = name
	}
	item := item{name: name, count: count}
	item.name, item.count = ToUpper(item.name), item.count+1
	fmt := item.fmt
	switch item := any(item).(type) {
	case int:
		_ = item
	case fmt1:
		_ = item.name
	}
	return fmt() + item.Name()
}

type fmt1 = item

func outer(base base.Outer) int {
	func(outer int) { _ = outer }(base.Depth)
name:
	for {
		break name
	}
	return base.Depth2 + count
}

var _, _ = outer, name
`,
	"specimen/tags/here.go": `//go:build !never

// Package tags differs by platform.
package tags

// Here is in all builds but one.
func Here() int { return only() + Both }

var _ = Here()
`,
	"specimen/tags/never.go": `//go:build never

package tags

func Here() int { return 0 }

func only() int { return Here() }

const Both = 2
`,
	"specimen/tags/only_linux.go":   "package tags\n\nfunc only() int { return Both }\n\n// Both is here and there.\nconst Both = 1\n",
	"specimen/tags/only_windows.go": "package tags\n\nfunc only() int { return Both * 2 }\n\n// Both is here and there.\nconst Both = 3\n",
	"specimen/tags/only_other.go":   "//go:build !linux && !windows\n\npackage tags\n\nfunc only() int { return Both * 3 }\n\n// Both is here and there.\nconst Both = 4\n",
	"specimen/tests/tests.go": `// Package tests is used by its tests.
package tests

import "github.com/cilium/ebpf/specimen/base"

// Exported is used in both kinds of tests.
func Exported() int { return hidden() }

func hidden() int { return 1 }

// Saver is satisfied by a type of the tests.
type Saver interface{ Save() error }

// Save calls through the interface.
func Save(s Saver) error { return s.Save() }

// Kept embeds twice.
type Kept struct{ inner }

type inner struct{ base.Base }
`,
	"specimen/tests/in_test.go": `package tests

import "testing"

// Hidden is for the tests next to the package.
var Hidden = hidden

// helper is what tests share.
func helper(t *testing.T) int { t.Helper(); return Exported() + hidden() }

type fake struct{ saved int }

func (f *fake) Save() error { f.saved++; return nil }

// Reset is a method that only tests have.
func (k *Kept) Reset() { k.Depth = 0 }

func TestIn(t *testing.T) {
	f := &fake{saved: helper(t)}
	_ = Save(f)
	k := Kept{}
	k.Reset()
	_ = k.Deep(f.saved) // promoted Kept.Deep
}
`,
	"specimen/tests/out_test.go": `package tests_test

import (
	"testing"

	"github.com/cilium/ebpf/specimen/tests"
)

type saver int

func (s saver) Save() error { return nil }

func helper() int { return tests.Hidden() + tests.Exported() }

func TestOut(t *testing.T) {
	_ = tests.Save(saver(helper()))
	var k tests.Kept
	k.Reset()
	_ = k.Depth // promoted tests.Kept.Depth
}
`,
}
