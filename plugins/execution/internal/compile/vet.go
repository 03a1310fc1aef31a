package compile

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/plugins/execution/internal/form"
)

// Vet returns what go vet warns about in the form; nothing if the package's
// directory does not exist, because go vet needs it.
//
// # Errors
//
// [form.Problems] if the form does not compile.
func (c *Compilation) Vet(ctx context.Context) (form.Problems, error) {
	warnings := form.Problems{}
	if _, err := os.Stat(c.Target.Dir); err != nil {
		return warnings, nil // see above
	}
	stdout, stderr, err := c.run(ctx, false, "vet", "-json")
	if err != nil {
		return nil, err
	}
	for _, output := range []string{stdout, stderr} {
		addWarnings(&warnings, output, c.Form.Number)
	}
	return warnings, nil
}

// addWarnings reads the output of go vet -json: an object for each package, with
// comments in between.
func addWarnings(warnings *form.Problems, output string, number int) {
	var objects strings.Builder
	for line := range strings.Lines(output) {
		if !strings.HasPrefix(line, "#") {
			objects.WriteString(line)
		}
	}
	for dec := json.NewDecoder(strings.NewReader(objects.String())); ; {
		var packages map[string]map[string]json.RawMessage
		if dec.Decode(&packages) != nil {
			return
		}
		for _, analyzers := range packages {
			for _, name := range slices.Sorted(maps.Keys(analyzers)) {
				var found []struct{ Posn, Message string }
				if json.Unmarshal(analyzers[name], &found) != nil { // the analyzer itself failed
					continue
				}
				for _, w := range found {
					if one, ok := form.Locate(w.Posn, number); ok && one.Form == 0 {
						one.Message = w.Message + " (" + name + ")"
						warnings.Add(one)
					}
				}
			}
		}
	}
}
