package hostile

import (
	"context"
	"fmt"

	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/procstest"
	"github.com/toolhost/toolhost/pluginsdk"
)

// Bloated is a plugin whose environment has no end, as others see it.
const Bloated plugintest.Mode = "bloated"

func environModes() map[plugintest.Mode]func() {
	return map[plugintest.Mode]func(){Bloated: func() {
		warn()
		err := procstest.BloatEnviron()
		pluginsdk.Main(pluginsdk.Func(Tool, "Tells whether its environment is as large as it wants.", func(context.Context, none) (string, error) {
			return fmt.Sprint(err), nil
		}, pluginsdk.Safe()))
	}}
}
