//go:build !race

package words

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// newest is the newest run of the benchmarks.
type newest struct {
	keys    map[string]any      // of docs/bench/latest.json
	seconds float64             // that it took
	rows    map[string][]string // of the tables of docs/bench/latest.md, by their first cell
}

// key is a figure of latest.json with so many digits after the point, rounded as in latest.md.
func (n newest) key(name string, digits int) string {
	if v, ok := n.keys[name].(float64); ok {
		scale := math.Pow10(digits)
		return fmt.Sprintf("%.*f", digits, math.Round(v*scale)/scale)
	}
	return "(docs/bench/latest.json has no " + name + ")"
}

// cell is one of a row of latest.md, from 0.
func (n newest) cell(row string, column int) string {
	if column < len(n.rows[row]) {
		return n.rows[row][column]
	}
	return fmt.Sprintf("(docs/bench/latest.md has no cell %d of %s)", column, row)
}

// targets counts the keys that have a target, and those that are not met.
func (n newest) targets() (all, missed int) {
	for _, row := range n.rows {
		if len(row) == 5 && strings.HasSuffix(row[4], "met") {
			all++
			if row[4] == "not met" {
				missed++
			}
		}
	}
	return all, missed
}

// sentences are what documents say of the newest run, by document.
func (n newest) sentences() map[string][]string {
	const target = 2 // a column of keys
	minutes := word(int(math.Ceil(n.seconds / 60)))
	mcp := func(about, key string) string {
		return fmt.Sprintf("| %s | %s | %s |", about, n.cell(key, target), n.key(key, 2))
	}
	return map[string][]string{
		"README.md": {
			fmt.Sprintf("[%s to %s of a bare go-plugin call]", n.key("p50_socket", 2), n.key("p50_stream", 2)),
		},
		"CONTRIBUTING.md": {
			fmt.Sprintf("| `make bench` | what a call costs, next to other ways to make it | %s minutes, on a quiet machine |",
				minutes),
		},
		"bench/README.md": {fmt.Sprintf("# all, about %s minutes;", minutes)},
		"docs/performance.md": {
			targetsOf(n.targets()),
			fmt.Sprintf("p99 next to 8 MiB results is %s times its quiet one", n.key("neighbour_p99_results_8m", 2)),
			mcp("p50, stdio, to a plugin, against the SDK's server", "mcp_stdio"),
			mcp("p50, HTTP, to a plugin, against the SDK's server", "mcp_http"),
			mcp("p50, to a mounted server, against that server", "mcp_mounted"),
			mcp("calls per second, 64 callers, stdio", "mcp_tput64_stdio"),
			mcp("calls per second, 64 callers, HTTP", "mcp_tput64_http"),
			mcp("calls per second, 64 callers, mounted", "mcp_tput64_mounted"),
			fmt.Sprintf("to the list of 20 remembered plugins | %s ms | %s ms |",
				n.cell("mcp_list_20_ms", target), n.key("mcp_list_20_ms", 1)),
		},
	}
}

func targetsOf(all, missed int) string {
	return fmt.Sprintf("Of the %d speed targets, %d are not met", all, missed)
}

func word(n int) string {
	if words := strings.Fields("none one two three four five six seven eight nine ten eleven twelve"); n < len(words) {
		return words[n]
	}
	return fmt.Sprint(n)
}

var space = regexp.MustCompile(`\s+`)

// says reports whether a document has a sentence, wherever its lines end and be it the beginning of one.
func says(document, sentence string) bool {
	return strings.Contains(strings.ToLower(space.ReplaceAllString(document, " ")), strings.ToLower(sentence))
}

func newestRun(latest, tables []byte) (newest, error) {
	n := newest{rows: map[string][]string{}}
	if err := json.Unmarshal(latest, &n.keys); err != nil {
		return n, err
	}
	machine, _ := n.keys["machine"].(map[string]any)
	n.seconds, _ = machine["seconds"].(float64)
	for line := range strings.Lines(string(tables)) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		for i := range cells {
			cells[i] = strings.Trim(cells[i], "`*")
		}
		n.rows[cells[0]] = cells
	}
	return n, nil
}

// The figures of the newest benchmark are the same in all documents.
func TestFiguresAreTheNewest(t *testing.T) {
	t.Parallel()
	read := func(name string) []byte {
		text := require.Must(os.ReadFile("../../../" + name))(t)
		return text
	}
	n := require.Must(newestRun(read("docs/bench/latest.json"), read("docs/bench/latest.md")))(t)
	for document, sentences := range n.sentences() {
		text := string(read(document))
		for _, sentence := range sentences {
			if !says(text, sentence) {
				t.Errorf("%s does not say what docs/bench has: write %q", document, sentence)
			}
		}
	}
}

func TestNewestRun(t *testing.T) {
	t.Parallel()
	n, err := newestRun([]byte(`{"p50_socket": 0.2877, "p50_stream": 0.6248, "machine": {"seconds": 426}}`), []byte(
		"| **mcp** | MCP go-sdk over stdio | 503 | 1.56 |\n"+
			"| `a` | p50 | ≤ 0.62 | 0.625 | **not met** |\n| `b` | p99 | ≤ 1 | 0.99 | met |\n| `c` | CPU | – | 1.14 |  |\n"))
	require.NoError(t, err)
	sentences := n.sentences()
	for document, want := range map[string]bool{
		"[0.29 to 0.62 of a\nbare go-plugin call](a)": true,
		"[0.2 to 0.6 of a bare go-plugin call](a)":    false,
	} {
		said := false
		for _, sentence := range sentences["README.md"] {
			said = said || says(document, sentence)
		}
		assert.Equalf(t, said, want, "%s: agrees with the run", document)
	}
	assert.Equalf(t, sentences["bench/README.md"][0], "# all, about eight minutes;", "426 s")
	if got := sentences["docs/performance.md"][0]; got != "Of the 2 speed targets, 1 are not met" {
		t.Errorf("a target that is met and one that is not are %q", got)
	}
}
