//go:build !linux

package hostile

import "github.com/toolhost/toolhost/host/internal/plugintest"

func systemModes() map[plugintest.Mode]func() { return nil }
