//go:build !unix

package hostile

import "github.com/toolhost/toolhost/host/internal/plugintest"

func neighbourModes() map[plugintest.Mode]func() { return nil }
