//go:build !linux || !(amd64 || arm64)

package pluginrun

import (
	"errors"
	"os"
	"os/exec"

	"github.com/toolhost/toolhost/internal/sandbox"
)

// begin is not called here: there is no stage.
func (*command) begin(*exec.Cmd, *sandbox.Plan) (*os.Process, error) {
	return nil, errors.ErrUnsupported
}
