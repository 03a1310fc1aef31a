package tooltest_test

import (
	"testing"

	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/tooltest"
)

func TestSet(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, func(t *testing.T) tool.Provider {
		set, err := tool.NewSet(tooltest.Fixture()...)
		if err != nil {
			t.Fatal(err)
		}
		return set
	})
}
