// One goroutine reads text here: the race detector would make it take a minute.

//go:build !race

package words

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

var (
	namedFile = regexp.MustCompile("`([a-zA-Z0-9_./-]+\\.(?:go|s|proto))`")
	link      = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)

	namedDocument = regexp.MustCompile(`\b(?:docs|how-to|reference|tutorials)(?:/[\w-]+)+\.md\b`)
)

// What documents name exists: source files, and the targets of links. So does each document that a file names:
// in comments, texts of the programs, templates or another document.
func TestDocsNameFiles(t *testing.T) {
	t.Parallel()
	tree := os.DirFS("../../..")
	var files []string
	require.NoError(t, fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && slices.Contains([]string{".git", "bin", "dist", "node_modules"}, d.Name()) {
				err = fs.SkipDir
			}
			return err
		}
		files = append(files, "/"+name)
		return nil
	}))
	documents := 0
	for _, file := range files {
		name := file[1:]
		prose := !slices.ContainsFunc(strings.Split(name, "/"), func(dir string) bool { return skipped[dir] })
		if name == "CHANGELOG.md" || !prose && path.Ext(name) != ".md" { // the changelog names what there was
			continue
		}
		text := require.Must(fs.ReadFile(tree, name))(t)
		var named []string
		if prose {
			named = documentsIn(text)
		}
		if path.Ext(name) == ".md" {
			documents++
			for _, m := range namedFile.FindAllStringSubmatch(string(text), -1) {
				named = append(named, m[1])
			}
			for _, m := range link.FindAllStringSubmatch(string(text), -1) {
				if _, err := fs.Stat(tree, path.Join(path.Dir(name), m[1])); err != nil {
					t.Errorf("%s has a link to %s: %v", name, m[1], err)
				}
			}
		}
		for _, n := range named {
			if !anyHasSuffix(files, "/"+n) {
				t.Errorf("%s names %s, which does not exist", name, n)
			}
		}
	}
	if documents < 8 {
		t.Errorf("read %d documents", documents)
	}
}

// documentsIn finds the names of documents in a text.
func documentsIn(text []byte) (names []string) {
	for line := range bytes.Lines(text) {
		if bytes.Contains(line, []byte(".md")) {
			names = append(names, namedDocument.FindAllString(string(line), -1)...)
		}
	}
	return names
}

func TestDocumentsIn(t *testing.T) {
	t.Parallel()
	text := "// a code of docs/errors.md, or of ../reference/errors.md,\n" +
		"[there](docs/how-to/audit.md) and document/a.md\n"
	want := "docs/errors.md reference/errors.md docs/how-to/audit.md"
	assert.Equal(t, strings.Join(documentsIn([]byte(text)), " "), want)
}

func anyHasSuffix(all []string, suffix string) bool {
	for _, s := range all {
		if strings.HasSuffix(s, suffix) {
			return true
		}
	}
	return false
}
