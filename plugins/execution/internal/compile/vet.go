package compile

import (
	"context"
	"os"

	"github.com/toolhost/toolhost/plugins/execution/internal/form"
	"github.com/toolhost/toolhost/plugins/execution/internal/gocmd"
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
	for _, w := range append(gocmd.Findings(stdout), gocmd.Findings(stderr)...) {
		if one, ok := form.Locate(w.Posn, c.Form.Number); ok && one.Form == 0 {
			one.Message = w.Message + " (" + w.Analyzer + ")"
			warnings.Add(one)
		}
	}
	return warnings, nil
}
