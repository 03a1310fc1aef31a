//go:build !unix

package hostile

import "github.com/toolhost/toolhost/internal/test/plugintest"

func neighbourModes() map[plugintest.Mode]func() { return nil }
