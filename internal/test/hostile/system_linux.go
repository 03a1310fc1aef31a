package hostile

import (
	"maps"

	"github.com/toolhost/toolhost/internal/test/plugintest"
)

// systemModes use what Linux lets a process do to others of its user.
func systemModes() map[plugintest.Mode]func() {
	all := terminalModes()
	maps.Copy(all, environModes())
	maps.Copy(all, forkModes())
	return all
}
