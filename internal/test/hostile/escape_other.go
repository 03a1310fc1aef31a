//go:build !unix

package hostile

import "github.com/toolhost/toolhost/internal/test/plugintest"

func escapeModes() map[plugintest.Mode]func() { return nil }
