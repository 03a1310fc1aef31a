package gocmd

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Finding is what an analyzer of go vet found.
type Finding struct {
	Posn, Message string
	Analyzer      string `json:"-"`
}

// Findings reads the output of go vet -json: an object for each package, with comments in
// between.
func Findings(output string) (out []Finding) {
	var objects strings.Builder
	for line := range strings.Lines(output) {
		if !strings.HasPrefix(line, "#") {
			objects.WriteString(line)
		}
	}
	for dec := json.NewDecoder(strings.NewReader(objects.String())); ; {
		var packages map[string]map[string]json.RawMessage
		if dec.Decode(&packages) != nil {
			return out
		}
		for _, name := range slices.Sorted(maps.Keys(packages)) {
			analyzers := packages[name]
			for _, analyzer := range slices.Sorted(maps.Keys(analyzers)) {
				var found []Finding
				if json.Unmarshal(analyzers[analyzer], &found) != nil { // the analyzer itself failed
					continue
				}
				for _, f := range found {
					f.Analyzer = analyzer
					out = append(out, f)
				}
			}
		}
	}
}
