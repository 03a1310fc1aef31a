//go:build !linux || !(amd64 || arm64)

package plugin

import (
	"errors"
	"os"
	"os/exec"

	"github.com/toolhost/toolhost/internal/sandbox"
)

var errNoStage = errors.New("the stage exists on Linux, for two processors")

func (*command) begin(*exec.Cmd, *sandbox.Plan) (*os.Process, error) { return nil, errNoStage }

func isNoStage(err error) bool { return errors.Is(err, errNoStage) }
