package tool

import "log/slog"

// Companion is what a call's context brings along beside its end. Contexts of a
// package that carries calls implement it, and answer [CallValue] for it.
type Companion interface {
	// Progress is who wants to be told; nil: nobody.
	Progress() func(Progress)
	// Log takes a line for the host's log.
	Log(level slog.Level, message string)
}

// CallValue is a companion's answer to a context's Value, with no context of its
// own for each of its abilities; nil: the key asks for something else.
func CallValue(key any, c Companion) any {
	switch key.(type) {
	case progressKey:
		return c.Progress()
	case logKey:
		return c.Log
	}
	return nil
}
