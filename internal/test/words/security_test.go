//go:build !race

package words

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// The tests that SECURITY.md names for each guarantee, and docs/attacks.md for each attack, exist: each alternative of a pattern selects one
// in each of its packages.
func TestSecurityNamesTests(t *testing.T) {
	t.Parallel()
	packages := map[string][]string{}
	for page, least := range map[string]int{"SECURITY.md": 30, "docs/attacks.md": 20} {
		testNamed(t, page, least, packages)
	}
}

func testNamed(t *testing.T, page string, least int, packages map[string][]string) {
	t.Helper()
	text := require.Must(os.ReadFile("../../../" + page))(t)
	_, table, _ := strings.Cut(string(text), "| shown by |\n|---|---|---|")
	_, table, _ = strings.Cut(table, "\n")
	table, _, _ = strings.Cut(strings.TrimSuffix(table, "\n"), "\n\n")
	rows := strings.Split(table, "\n")
	if len(rows) < least {
		t.Fatalf("the table of %s has %d rows", page, len(rows))
	}
	for _, row := range rows {
		cell := row[strings.LastIndex(strings.TrimSuffix(row, " |"), " | ")+1:]
		for _, fault := range faultsOf(cell, func(name string) []string {
			if packages[name] == nil {
				packages[name] = testsOf(t, filepath.Join("../../..", name))
			}
			return packages[name]
		}) {
			t.Errorf("%s: %s, in the row %.60s…", page, fault, row)
		}
	}
}

// A selection is what one go test command runs.
type selection struct {
	pattern  string   // of -run; empty: all tests
	packages []string // such as ./host
}

var code = regexp.MustCompile("`([^`]+)`")

// selections reads the code in a cell: go test ./a ./b -run 'X\|Y', or -run X and then its packages, or a
// fuzz target of the packages before it.
func selections(cell string) ([]selection, error) {
	var all []selection
	for _, span := range code.FindAllStringSubmatch(cell, -1) {
		words := strings.Fields(strings.ReplaceAll(span[1], `\|`, "|"))
		switch {
		case words[0] == "go" && len(words) > 2 && words[1] == "test":
			all, words = append(all, selection{}), words[2:]
		case words[0] == "-run" && len(words) > 1:
			all = append(all, selection{})
		case strings.HasPrefix(words[0], "Fuzz") && len(all) > 0:
			all = append(all, selection{"^" + words[0] + "$", all[len(all)-1].packages})
			continue
		case !strings.HasPrefix(words[0], "./") || len(all) == 0:
			return nil, fmt.Errorf("`%s` does not name tests: write go test ./PACKAGE, or -run PATTERN in ./PACKAGE", span[1])
		}
		last := &all[len(all)-1]
		for i, word := range words {
			if strings.HasPrefix(word, "./") {
				last.packages = append(last.packages, word)
			} else if i > 0 && words[i-1] == "-run" {
				last.pattern = strings.Trim(word, "'")
			}
		}
	}
	return all, nil
}

// faultsOf says what a cell names and tests, by package, do not have.
func faultsOf(cell string, tests func(string) []string) (faults []string) {
	all, err := selections(cell)
	if err != nil {
		return []string{err.Error()}
	}
	if len(all) == 0 {
		return []string{"no test is named"}
	}
	for _, s := range all {
		if len(s.packages) == 0 {
			faults = append(faults, fmt.Sprintf("-run %s has no package", s.pattern))
		}
		for _, name := range s.packages {
			for alternative := range strings.SplitSeq(s.pattern, "|") {
				selects, err := regexp.Compile(alternative)
				if err != nil || alternative == "" && s.pattern != "" || !slices.ContainsFunc(tests(name), selects.MatchString) {
					faults = append(faults, fmt.Sprintf("%q selects no test of %s", alternative, name))
				}
			}
		}
	}
	return faults
}

// testsOf returns the names of what -run selects from in a directory, whatever the build tags.
func testsOf(t *testing.T, dir string) []string {
	t.Helper()
	files := require.Must(filepath.Glob(filepath.Join(dir, "*_test.go")))(t)
	var names []string
	for _, name := range files {
		file := require.Must(parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution))(t)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && selectable(f.Name.Name) {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}

func selectable(function string) bool {
	for _, prefix := range []string{"Test", "Fuzz", "Example"} {
		if rest, ok := strings.CutPrefix(function, prefix); ok && function != "TestMain" {
			return rest == "" || !unicode.IsLower([]rune(rest)[0])
		}
	}
	return false
}

func TestFaultsOf(t *testing.T) {
	t.Parallel()
	tests := func(name string) []string {
		return map[string][]string{"./a": {"TestOne", "TestTwo", "FuzzThree"}, "./b": {"TestOne"}}[name]
	}
	for cell, want := range map[string]string{
		"`go test ./a ./b`":                                    "",
		"`go test ./b -run One`":                               "",
		"`-run 'One\\|Two'` in `./a`, `FuzzThree`":             "",
		"`-run One` in `./a` and `./b`; `go test ./a`":         "",
		"`-run 'One\\|Other'` in `./a`":                        `"Other" selects no test of ./a`,
		"`-run Two` in `./a` and `./b`":                        `"Two" selects no test of ./b`,
		"`go test ./a`, `FuzzTwo`":                             `"^FuzzTwo$" selects no test of ./a`,
		"`go test ./c`, whose table is [docs/a.md](docs/a.md)": `"" selects no test of ./c`,
		"`go test ./b -run 'One\\|'`":                          `"" selects no test of ./b`,
		"`go test ./b -run (`":                                 `"(" selects no test of ./b`,
		"`-run One`":                                           "-run One has no package",

		"`go vet ./a`":   "`go vet ./a` does not name tests: write go test ./PACKAGE, or -run PATTERN in ./PACKAGE",
		"a person looks": "no test is named",
	} {
		assert.Equalf(t, strings.Join(faultsOf(cell, tests), "; "), want, "%s", cell)
	}
	for name, want := range map[string]bool{
		"TestOne": true, "Test_one": true, "FuzzA": true, "TestMain": false, "Testing": false, "newTest": false,
	} {
		if selectable(name) != want {
			t.Errorf("%s is selectable: %v", name, !want)
		}
	}
}
