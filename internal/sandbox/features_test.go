package sandbox_test

import (
	"testing"

	"github.com/toolhost/toolhost/internal/sandbox"
)

func TestDetect(t *testing.T) {
	t.Parallel()
	t.Logf("%+v", sandbox.Detect())
}
