package compile

import (
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/plugins/execution/internal/gocmd"
)

// BrokenError says that the package does not compile, whatever the form is.
type BrokenError struct {
	Path string // of the package; empty: the go command cannot read the module
	Text string // what the compiler says
}

func (e *BrokenError) Error() string {
	if e.Path == "" {
		return "the go command cannot read the workspace's module:\n" + e.Text
	}
	return fmt.Sprintf("package %s does not compile, so nothing can be evaluated in it "+
		"(package: \"scratch\" needs none of the workspace):\n%s", e.Path, e.Text)
}

// broken makes a failure of the go command, before it saw the form, an error of the module.
func broken(err error, scrub func(string) string) error {
	if failed, ok := errors.AsType[*gocmd.Error](err); ok {
		return &BrokenError{Text: scrub(failed.Output)}
	}
	return err
}
