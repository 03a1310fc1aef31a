package sandbox_test

import (
	"testing"

	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/internal/test/require"
)

func TestDetect(t *testing.T) {
	t.Parallel()
	t.Logf("%+v", require.Must(sandbox.Detect())(t))
}
