package session

import (
	"path/filepath"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// openAudit opens the audit log that the flag, the configuration or the environment names, or
// else the default one, and returns the options that record calls in it, its path (empty: there
// is none) and a function that closes it. A log that was named has to be usable; without the default log, calls run
// unrecorded after a warning.
func (s *Session) openAudit(t *Settings, flag string) (opts []host.Option, path string, closeLog func(), err error) {
	nothing := func() {}
	logger, err := s.Logger()
	if err != nil {
		return nil, "", nothing, err
	}
	path = t.AuditPath(flag)
	if path == Off {
		return nil, "", nothing, nil
	}
	named := path != ""
	if !named {
		path, err = audit.DefaultPath()
	}
	var log *audit.File
	if err == nil {
		a := t.Config.Audit
		head, _ := audit.HeadPath(path) // without a state directory, nothing is remembered
		log, err = audit.Open(path, audit.Options{
			MaxSize: a.MaxSize, Keep: a.MaxFiles, MaxAge: a.MaxAge, Head: head, Warn: func(text string) { logger.Warn(text) },
		})
	}
	switch {
	case err == nil:
		if abs, bad := filepath.Abs(path); bad == nil {
			path = abs
		}
		return []host.Option{host.WithAudit(log), host.WithProtected(path, path+".lock")}, path, func() { s.closeAudit(log) }, nil
	case named:
		return nil, "", nothing, exit.With(exit.BadUsage, err)
	}
	fault := *tool.AsError(err)
	fault.Message = "calls are not recorded: " + fault.Message
	fault.Hint = "name another file with --audit or " + AuditVariable + ", or say --audit " + Off
	s.Warn(&fault)
	return nil, "", nothing, nil
}

// closeAudit warns of calls that could not be recorded after all.
func (s *Session) closeAudit(log *audit.File) {
	if err := log.Close(); err != nil {
		s.Warn(tool.AsError(err))
	}
}
