package scaffold

import (
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const root = "../../../.."

// text is what a person reads of an error.
func text(err error) string {
	var e *tool.Error
	if errors.As(err, &e) {
		return e.Message + "; " + e.Hint
	}
	return fmt.Sprint(err)
}

// What the templates have from elsewhere in the repository is what is there.
func TestTemplatesAreFresh(t *testing.T) {
	t.Parallel()
	want := require.Must(os.ReadFile(filepath.Join(root, "proto/toolhost/plugin/v1/plugin.proto")))(t)
	if have, err := templates.ReadFile("templates/plugin.proto"); err != nil || string(have) != string(want) {
		t.Errorf("templates/plugin.proto is not the contract: run make generate (%v)", err)
	}
	text := require.Must(os.ReadFile(filepath.Join(root, "go.mod")))(t)
	m, err := modfile.ParseLax("go.mod", text, nil)
	if err != nil || m.Go.Version != goVersion || m.Module.Mod.Path != Path {
		t.Errorf("go.mod has go %v and module %v, %v", m.Go, m.Module, err)
	}
}

// Each template renders, names the plugin and has nothing left to fill in.
func TestFiles(t *testing.T) {
	t.Parallel()
	for _, l := range Languages() {
		files, err := Project{Name: "sky", Language: l, Toolhost: Module{Version: "v0.1.0", Dir: "/a b"}, CI: GitHub}.files()
		if err != nil || len(files) < 9 {
			t.Fatalf("%s: %d files, %v", l, len(files), err)
		}
		for _, f := range files {
			if s := strings.ReplaceAll(string(f.content), "${{", "$"); strings.Contains(s, "{{") || strings.Contains(s, "<no value>") || !strings.HasSuffix(s, "\n") || strings.HasSuffix(s, "\n\n") {
				t.Errorf("%s: %s has\n%s", l, f.path, s)
			}
			if strings.HasSuffix(f.path, ".go") {
				if pretty, err := format.Source(f.content); err != nil || string(pretty) != string(f.content) {
					t.Errorf("%s is not formatted as gofmt does: %v", f.path, err)
				}
			}
			if f.path == "go.mod" {
				if m, err := modfile.Parse(f.path, f.content, nil); err != nil || m.Replace[0].New.Path != "/a b" {
					t.Errorf("%s\n%v", f.content, err)
				}
			}
		}
	}
}

// A project is written whole, into a new or an empty directory, and replaces nothing.
func TestWrite(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(at string) error
		want    error
	}{
		"new":         {func(string) error { return nil }, nil},
		"empty":       {func(at string) error { return os.Mkdir(at, 0o700) }, nil},
		"not empty":   {func(at string) error { return os.MkdirAll(filepath.Join(at, ".git"), 0o700) }, ErrNotEmpty},
		"a file":      {func(at string) error { return os.WriteFile(at, []byte("mine"), 0o600) }, ErrNotEmpty},
		"a link":      {func(at string) error { return os.Symlink(t.TempDir(), at) }, ErrNotEmpty},
		"no way out":  {func(at string) error { return os.Symlink("nothing", at) }, ErrNotEmpty},
		"unwritable":  {func(at string) error { return os.Chmod(filepath.Dir(at), 0o500) }, fs.ErrPermission},
		"not a place": {func(at string) error { return os.Remove(filepath.Dir(at)) }, fs.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := filepath.Join(t.TempDir(), "parent")
			require.NoError(t, os.Mkdir(parent, 0o700))
			if err := c.prepare(filepath.Join(parent, "sky")); err != nil {
				t.Skip(err)
			}
			if name == "unwritable" && os.WriteFile(filepath.Join(parent, "probe"), nil, 0o600) == nil {
				t.Skip("this user may write everywhere")
			}
			before := tree(t, parent)
			w, err := Project{Name: "sky", Language: Python}.Write(parent)
			after := tree(t, parent)
			if !errors.Is(err, c.want) || c.want != nil && before != after {
				t.Errorf("%v; before:\n%s\nafter:\n%s", err, before, after)
			}
			if c.want != nil {
				return
			}
			if want := "sky\nsky/" + strings.Join(w.Files, "\nsky/") + "\n"; after != want {
				t.Errorf("it has\n%s\nand says\n%s", after, want)
			}
			if info, err := os.Stat(filepath.Join(w.Dir, "release.sh")); err != nil || info.Mode()&0o100 == 0 {
				t.Errorf("release.sh: %v, %v", info, err)
			}
		})
	}
}

// tree lists what is below a directory.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); rel != "." {
			out.WriteString(filepath.ToSlash(rel) + "\n")
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return out.String()
}

func TestFindModule(t *testing.T) {
	t.Parallel()
	checkout, elsewhere := t.TempDir(), t.TempDir()
	for path, content := range map[string]string{
		filepath.Join(checkout, "go.mod"):           "module " + Path + "\n",
		filepath.Join(checkout, "bin", "toolhost"):  "",
		filepath.Join(elsewhere, "go.mod"):          "module example.com/other\n",
		filepath.Join(elsewhere, "bin", "toolhost"): "",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	for _, c := range []struct {
		version, sum, dir string
		want              Module
		err               error
	}{
		{"v0.3.0", "h1:x", elsewhere, Module{Version: "v0.3.0"}, nil},
		{"v0.3.0", "", checkout, Module{Version: "v0.3.0"}, nil}, // a release archive
		{"v0.3.1-0.20261123120000-abcdefabcdef", "h1:x", elsewhere, Module{Version: "v0.3.1-0.20261123120000-abcdefabcdef"}, nil},
		{"v0.3.1-0.20261123120000-abcdefabcdef", "", checkout, Module{"v0.1.0", checkout}, nil},
		{"v0.3.0+dirty", "", checkout, Module{"v0.1.0", checkout}, nil},
		{"(devel)", "", checkout, Module{"v0.1.0", checkout}, nil},
		{"(devel)", "", elsewhere, Module{}, ErrNoModule},
		{"(devel)", "", filepath.Join(checkout, "bin"), Module{}, ErrNoModule},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Path: Path, Version: c.version, Sum: c.sum}}
		if got, err := FindModule(info, filepath.Join(c.dir, "bin", "toolhost")); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s %s in %s: %+v, %v", c.version, c.sum, c.dir, got, err)
		}
	}
	if m, err := ParseModule("v1.2.3"); err != nil || m != (Module{Version: "v1.2.3"}) {
		t.Errorf("%+v, %v", m, err)
	}
	for s, want := range map[string]string{elsewhere: `has the module "example.com/other"`, "v1": "go.mod", t.TempDir(): "go.mod"} {
		if _, err := ParseModule(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", s, err)
		}
	}
}
