//go:build !unix

package hostile

import "github.com/toolhost/toolhost/host/internal/plugintest"

func escapeModes() map[plugintest.Mode]func() { return nil }
