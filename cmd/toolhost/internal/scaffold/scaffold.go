// Package scaffold writes the project of a new plugin. Begin with [Project.Write].
package scaffold

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"golang.org/x/mod/modfile"

	"github.com/toolhost/toolhost/host"
)

// templates has a directory of files for every language and one for each, and one for GitHub. They are templates of
// text/template over a [Project]; the ending .tmpl of their names is dropped.
//
//go:embed all:templates
var templates embed.FS

// executable are the files of a project that are programs.
var executable = []string{"release.sh"}

// Project is a project to be written.
type Project struct {
	// Name is the plugin's name, see [CheckName].
	Name string
	// Language is one of [Languages].
	Language Language
	// Toolhost is where a Go plugin gets the SDK from. The others need none.
	Toolhost Module
	// CI is the service whose workflow makes the releases, which is [GitHub]; empty: none.
	CI string
}

// GitHub makes releases by GitHub Actions.
const GitHub = "github"

// Language is a language in which a plugin can be written.
type Language string

// The languages.
const (
	Go     Language = "go"
	Python Language = "python"
	Node   Language = "node"
)

// Languages returns them, the default first.
func Languages() []Language { return []Language{Go, Python, Node} }

// Title is how the language is written.
func (l Language) Title() string { return strings.ToUpper(string(l[:1])) + string(l[1:]) }

// Written is a project that was written.
type Written struct {
	// Dir is its directory, and Files are the paths of its files below that, with slashes, sorted.
	Dir   string   `json:"dir"`
	Files []string `json:"files"`
}

// GoVersion is the version of Go that the SDK needs.
func (Project) GoVersion() string { return goVersion }

const goVersion = "1.26.0"

// SDK is the version of toolhost that the project is made for.
func (p Project) SDK() string { return cmp.Or(p.Toolhost.Version, "v"+host.Version) }

// ErrNotEmpty reports that there is something at the directory of a new project.
var ErrNotEmpty = errors.New("there is something already")

// Write writes the project into a directory of its name below parent: all of it or nothing. The
// directory may exist if it is empty.
//
// # Errors
//
// [ErrNotEmpty]; those of the file system.
func (p Project) Write(parent string) (Written, error) {
	files, err := p.files()
	if err != nil {
		return Written{}, err
	}
	root, err := os.OpenRoot(parent)
	if err != nil {
		return Written{}, err
	}
	defer func() { _ = root.Close() }()
	w := Written{Dir: filepath.Join(parent, p.Name)}
	if err := vacant(root, p.Name); err != nil {
		return Written{}, fmt.Errorf("%s: %w", w.Dir, err)
	}
	made := "." + p.Name + "-" + rand.Text()
	if err := root.Mkdir(made, 0o777); err != nil {
		return Written{}, err
	}
	if err = writeAll(root, made, files); err == nil {
		err = move(root, made, p.Name)
	}
	if err != nil {
		return Written{}, errors.Join(err, root.RemoveAll(made))
	}
	for _, f := range files {
		w.Files = append(w.Files, f.path)
	}
	return w, nil
}

// vacant returns an error unless there is nothing of the name, or an empty directory.
func vacant(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return ErrNotEmpty
	}
	dir, err := root.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	if entries, _ := dir.ReadDir(1); len(entries) > 0 {
		return ErrNotEmpty
	}
	return nil
}

// move renames a directory to a name that is free, or that of an empty directory.
func move(root *os.Root, from, to string) error {
	err := root.Rename(from, to)
	if err != nil && vacant(root, to) == nil { // systems that replace no directory
		if err := root.Remove(to); err != nil {
			return err
		}
		err = root.Rename(from, to)
	}
	return err
}

// file is a file of a project.
type file struct {
	path    string // with slashes
	content []byte
	mode    fs.FileMode
}

func writeAll(root *os.Root, dir string, files []file) error {
	for _, f := range files {
		name := filepath.Join(dir, filepath.FromSlash(f.path))
		if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		if err := root.WriteFile(name, f.content, f.mode); err != nil {
			return err
		}
	}
	return nil
}

// files renders the project, sorted by path.
func (p Project) files() ([]file, error) {
	var out []file
	for _, part := range []string{"common", string(p.Language)} {
		dir := path.Join("templates", part)
		entries, err := templates.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			f, err := p.render(path.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			out = append(out, f)
		}
	}
	if p.CI == GitHub {
		f, err := p.render("templates/github/release.yml.tmpl")
		if err != nil {
			return nil, err
		}
		f.path = ".github/workflows/release.yml"
		out = append(out, f)
	}
	if p.Language != Go {
		contract, err := templates.ReadFile("templates/plugin.proto")
		if err != nil {
			return nil, err
		}
		out = append(out, file{"plugin.proto", contract, 0o666})
	}
	slices.SortFunc(out, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return out, nil
}

func (p Project) render(name string) (file, error) {
	t, err := template.New(path.Base(name)).Option("missingkey=error").
		Funcs(template.FuncMap{"quote": modfile.AutoQuote}).ParseFS(templates, name)
	if err != nil {
		return file{}, err
	}
	var text bytes.Buffer
	if err := t.Execute(&text, p); err != nil {
		return file{}, err
	}
	f := file{strings.TrimSuffix(path.Base(name), ".tmpl"), text.Bytes(), 0o666}
	if slices.Contains(executable, f.path) {
		f.mode = 0o777
	}
	return f, nil
}
