package session

import (
	"fmt"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// log is the log on standard error: standard output belongs to results.
//
// At the default level, warn, a daemon also logs what happens to plugins (lines with an event),
// whatever its level, because its log is all that is left of it. A command that ends with its
// work logs none of that, as its own error tells the same.
type log struct {
	logger    hclog.Logger
	threshold atomic.Int32 // what the user asks for, an hclog.Level
	serving   bool
}

// leavesOut reports whether a line is left out. It is called for lines from the logger's own
// level on, see loggerLevel.
func (l *log) leavesOut(level hclog.Level, _ string, args ...any) bool {
	asked := hclog.Level(l.threshold.Load())
	if asked != hclog.Warn {
		return false
	}
	if l.serving {
		return level < asked && !isEvent(args)
	}
	return isEvent(args)
}

func isEvent(args []any) bool {
	for i := 0; i < len(args); i += 2 {
		if args[i] == pluginrun.EventKey {
			return true
		}
	}
	return false
}

func (l *log) setLevel(level string) {
	asked := hclog.LevelFromString(level)
	l.threshold.Store(int32(asked))
	if asked == hclog.Warn && l.serving {
		asked = hclog.Info // for events
	}
	l.logger.SetLevel(asked)
}

// Logger returns the logger, which writes to standard error.
//
// # Errors
//
// [*exit.Error] for a level that does not exist.
func (s *Session) Logger() (hclog.Logger, error) {
	level := s.Settings().LogLevel
	if err := checkLogLevel(level); err != nil {
		return nil, err
	}
	if s.log == nil { // there is one logger, so that its level can be changed
		l := &log{serving: s.Serving}
		l.logger = hclog.New(&hclog.LoggerOptions{
			Name: "toolhost", Output: s.Err, JSONFormat: s.logsJSON(), Exclude: l.leavesOut,
		})
		l.setLevel(level)
		s.log = l
	}
	return s.log.logger, nil
}

// SetLogLevel changes the level of the logger.
func (s *Session) SetLogLevel(level string) {
	if s.log != nil {
		s.log.setLevel(level)
	}
}

// logsJSON reports whether all that is printed on standard error is JSON, a line each.
func (s *Session) logsJSON() bool { return s.Serving && s.Flags.JSON }

// Warn prints a problem that does not keep the rest from working.
func (s *Session) Warn(e *tool.Error) {
	if s.logsJSON() {
		s.logError(hclog.Warn, e)
		return
	}
	level := s.Settings().LogLevel
	s.Err.Warning(e, level == "debug" || level == "trace")
}

// PrintError prints the error with which the command ends.
func (s *Session) PrintError(err error) {
	if s.logsJSON() {
		s.logError(hclog.Error, tool.AsError(err))
		return
	}
	s.Err.Error(err)
}

func (s *Session) logError(level hclog.Level, e *tool.Error) {
	logger, err := s.Logger()
	if err != nil { // the level is what is wrong
		logger = hclog.New(&hclog.LoggerOptions{Name: "toolhost", Output: s.Err, JSONFormat: true})
	}
	var args []any
	for _, f := range [][2]string{{"code", string(e.Code)}, {"plugin", e.Plugin}, {"tool", e.Tool}, {"hint", e.Advice()}, {"detail", e.Detail}} {
		if f[1] != "" {
			args = append(args, f[0], f[1])
		}
	}
	logger.Log(level, output.Message(e), args...)
}

// Notef prints a line about who does the work, unless logging is off.
func (s *Session) Notef(format string, args ...any) {
	if s.Settings().LogLevel != "off" {
		s.Say(sanitize.Line(fmt.Sprintf(format, args...), 0))
	}
}

// Say prints a line whatever the level is.
func (s *Session) Say(text string) {
	if s.logsJSON() {
		if logger, err := s.Logger(); err == nil {
			logger.Info(text, pluginrun.EventKey, "note")
		}
		return
	}
	s.Err.Printf("toolhost: %s\n", text)
}
