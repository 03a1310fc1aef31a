// One goroutine reads text here: the race detector would make it take a minute.

//go:build !race

package words

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	namedFile = regexp.MustCompile("`([a-zA-Z0-9_./-]+\\.(?:go|s|proto))`")
	link      = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
)

// Source files that the documents name exist, and so do the targets of their links.
func TestDocsNameFiles(t *testing.T) {
	t.Parallel()
	tree := os.DirFS("../../..")
	var files, documents []string
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		files = append(files, "/"+name)
		if path.Ext(name) == ".md" && name != "CHANGELOG.md" {
			documents = append(documents, name)
		}
		return err
	})
	if err != nil || len(documents) < 8 {
		t.Fatalf("%d documents: %v", len(documents), err)
	}
	for _, document := range documents {
		text, err := fs.ReadFile(tree, document)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range namedFile.FindAllStringSubmatch(string(text), -1) {
			if !anyHasSuffix(files, "/"+m[1]) {
				t.Errorf("%s names %s, which does not exist", document, m[1])
			}
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := fs.Stat(tree, path.Join(path.Dir(document), m[1])); err != nil {
				t.Errorf("%s has a link to %s: %v", document, m[1], err)
			}
		}
	}
}

// The index of the decisions has each of them.
func TestDecisionsAreListed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/decisions.md")
	if err != nil {
		t.Fatal(err)
	}
	no := regexp.MustCompile(`[^\w\- ]`)
	entries := regexp.MustCompile(`(?m)^### (.*)$`).FindAllStringSubmatch(string(text), -1)
	for _, e := range entries {
		if at := strings.ReplaceAll(no.ReplaceAllString(strings.ToLower(e[1]), ""), " ", "-"); !strings.Contains(string(text), "](#"+at+"), ") {
			t.Errorf("the index of docs/decisions.md has no link to #%s", at)
		}
	}
	if listed := strings.Count(string(text), "](#"); listed != len(entries) {
		t.Errorf("the index has %d links for %d entries", listed, len(entries))
	}
}

func anyHasSuffix(all []string, suffix string) bool {
	for _, s := range all {
		if strings.HasSuffix(s, suffix) {
			return true
		}
	}
	return false
}
