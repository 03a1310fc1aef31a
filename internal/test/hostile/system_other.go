//go:build !linux

package hostile

import "github.com/toolhost/toolhost/internal/test/plugintest"

func systemModes() map[plugintest.Mode]func() { return nil }
