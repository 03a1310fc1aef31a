package tooltest_test

import (
	"testing"

	"github.com/toolhost/toolhost/internal/fixture"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/tooltest"
)

func TestSet(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, func(t *testing.T) tool.Provider {
		set := require.Must(tool.NewSet(fixture.Tools()...))(t)
		return set
	})
}
