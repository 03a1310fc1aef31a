package tooltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// updateVariable is the environment variable with which [Golden] writes its files: TOOLTEST_UPDATE=1
// go test ./... It is not a flag, as a test may have an -update of its own.
const updateVariable = "TOOLTEST_UPDATE"

// Golden fails the test if the definitions of p are not those in file, such as
// testdata/tools.json, and shows the lines that differ. What models, clients and locks see of a
// plugin then changes only on purpose. With TOOLTEST_UPDATE=1 the file is written.
func Golden(t testing.TB, p tool.Provider, file string) {
	t.Helper()
	defs, err := p.List(t.Context())
	if err != nil {
		t.Fatalf("List: %v", err)
	}
	got, err := encode(defs)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv(updateVariable) == "1" {
		if err := writeFile(file, got); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.Errorf("there is no %s: run the test with %s=1 to write it", file, updateVariable)
	case err != nil:
		t.Error(err)
	case !bytes.Equal(got, bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))):
		t.Errorf("the definitions are not those in %s; run the test with %s=1 if they should be:\n%s",
			file, updateVariable, difference(string(want), string(got)))
	}
}

// encode returns v as JSON for people.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}

func writeFile(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // others may read a test's data
		return err
	}
	return os.WriteFile(file, text, 0o644) //nolint:gosec // as above
}

// What a difference shows: lines around each change, and lines altogether.
const (
	differenceContext = 3
	differenceLines   = 200
)

// difference returns the lines of a and b that differ, with - and +, and some around them.
func difference(a, b string) string {
	var out strings.Builder
	lines := edits(strings.Split(strings.TrimSuffix(a, "\n"), "\n"), strings.Split(strings.TrimSuffix(b, "\n"), "\n"))
	near := make([]bool, len(lines))
	for i, l := range lines {
		if l[0] != ' ' {
			for j := max(0, i-differenceContext); j <= min(len(lines)-1, i+differenceContext); j++ {
				near[j] = true
			}
		}
	}
	shown := 0
	for i, l := range lines {
		switch {
		case !near[i]:
			continue
		case shown == differenceLines:
			return out.String() + "  ...\n"
		case i > 0 && !near[i-1]:
			fmt.Fprintln(&out, "  ...")
		}
		fmt.Fprintln(&out, l)
		shown++
	}
	return out.String()
}

// maxCompared bounds the work of a comparison: pairs of lines.
const maxCompared = 4 << 20

// edits returns all lines of a and b, each after "  ", "- " or "+ ".
func edits(a, b []string) (out []string) {
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		out = append(out, "  "+a[same])
		same++
	}
	a, b = a[same:], b[same:]
	end := 0
	for end < len(a) && end < len(b) && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	tail := a[len(a)-end:]
	a, b = a[:len(a)-end], b[:len(b)-end]
	if len(a)*len(b) > maxCompared { // one block for another
		out = append(append(out, prefixed("- ", a)...), prefixed("+ ", b)...)
		return append(out, prefixed("  ", tail)...)
	}
	common := make([][]int, len(a)+1) // common[i][j]: lines that a[i:] and b[j:] have in common
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			out = append(out, "  "+a[i])
			i, j = i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			out = append(out, "- "+a[i])
			i++
		default:
			out = append(out, "+ "+b[j])
			j++
		}
	}
	out = append(append(out, prefixed("- ", a[i:])...), prefixed("+ ", b[j:])...)
	return append(out, prefixed("  ", tail)...)
}

func prefixed(prefix string, lines []string) (out []string) {
	for _, l := range lines {
		out = append(out, prefix+l)
	}
	return out
}
