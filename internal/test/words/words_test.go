// One goroutine reads text here: the race detector would make it take a minute.

//go:build !race

package words

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
)

// skipped are directories whose text is not the project's prose.
var skipped = map[string]bool{".git": true, "bin": true, "testdata": true, "words": true, "node_modules": true}

func TestWords(t *testing.T) {
	t.Parallel()
	tree := os.DirFS("../../..")
	read := 0
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if skipped[d.Name()] {
				return fs.SkipDir
			}
			return nil
		}
		found, err := inFile(tree, name)
		for _, f := range found {
			t.Errorf("%s: %s", name, f)
		}
		read++
		return err
	})
	if err != nil || read < 100 {
		t.Errorf("read %d files: %v", read, err)
	}
}

func inFile(tree fs.FS, name string) ([]finding, error) {
	prose := map[string]bool{".md": true, ".yaml": true, ".yml": true, ".proto": true}
	isGo := path.Ext(name) == ".go" && !strings.HasSuffix(name, ".pb.go")
	if !isGo && !prose[path.Ext(name)] && path.Base(name) != "schema.json" && path.Base(name) != "Makefile" {
		return nil, nil
	}
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return nil, err
	}
	if isGo {
		return inGo(name, text)
	}
	return inText(string(text), 1), nil
}

func TestFindings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"fs: is no capability":                 1,
		"there is no tool of that name":        0,
		"the plugin is no longer there":        0,
		"nobody asked, where there is a lock":  2,
		"the lock beside toolhost.yaml":        1,
		"Who reads it passes over the others.": 1,
		"Who may do what?":                     0,
		"is started anew":                      1,
		"Anybody is behind THEM":               1,
		"It belongs into what came of it":      2,
		"done otherwise than here":             1,
	} {
		if got := inText(text, 1); len(got) != want {
			t.Errorf("%q: %d findings, want %d: %v", text, len(got), want, got)
		}
	}
	src := "package p\n\n// f is no function.\nfunc mourn() string { return \"nobody\" }\n\nconst note = `is not a`\n"
	found, err := inGo("p.go", []byte(src))
	if err != nil || len(found) != 3 || found[0].line != 3 || found[2].line != 4 {
		t.Errorf("%v, %v", found, err)
	}
}
