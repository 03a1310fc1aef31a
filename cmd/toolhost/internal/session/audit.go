package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/internal/state"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// openAudit opens the audit log that the flag, the configuration or the environment names, or
// else the default one. It is nil if there is to be none, or if the default log cannot be used, after a
// warning: then calls run unrecorded. A log that was named has to be usable.
func (s *Session) openAudit(t *Settings, flag string) (log *audit.File, path string, err error) {
	logger, err := s.Logger()
	if err != nil {
		return nil, "", err
	}
	path = t.AuditPath(flag)
	if path == Off {
		return nil, "", nil
	}
	named := path != ""
	if !named {
		path, err = audit.DefaultPath()
	}
	if err == nil {
		a := t.Config.Audit
		head, _ := audit.HeadPath(path) // without a state directory, nothing is remembered
		log, err = audit.Open(path, audit.Options{
			MaxSize: a.MaxSize, Keep: a.MaxFiles, MaxAge: a.MaxAge, Head: head, Warn: func(text string) { logger.Warn(text) },
			Waits: func(lines int) { s.Written.Waiting.Store(int64(lines)) },
		})
	}
	switch {
	case err == nil:
		if abs, bad := filepath.Abs(path); bad == nil {
			path = abs
		}
		return log, path, nil
	case named:
		return nil, "", exit.With(exit.BadUsage, err)
	}
	fault := *tool.AsError(err)
	fault.Message = "calls are not recorded: " + fault.Message
	fault.Hint = "name another file with --audit or " + AuditVariable + ", or say --audit " + Off
	s.Warn(&fault)
	return nil, "", nil
}

// recordIn returns the options that record calls in a log; nil: they are not recorded.
func (s *Session) recordIn(log *audit.File, path string) []host.Option {
	if log == nil {
		return nil
	}
	return []host.Option{host.WithAudit(counted{log, &s.Written}), host.WithProtected(path, path+".lock")}
}

// Written counts the lines of calls that were put on record, those that could not be, and those that wait in memory. Last
// is when the newest was put on record, in Unix milliseconds.
type Written struct{ Lines, Failed, Waiting, Last atomic.Int64 }

// counted is a log whose lines are counted.
type counted struct {
	*audit.File
	written *Written
}

// Write implements [audit.Sink].
func (c counted) Write(r audit.Record) error {
	err := c.File.Write(r)
	if err != nil {
		c.written.Failed.Add(1)
	} else {
		c.written.Lines.Add(1)
		if c.written.Waiting.Load() == 0 {
			c.written.Last.Store(time.Now().UnixMilli())
		}
	}
	return err
}

// closeAudit warns of calls that could not be recorded after all.
func (s *Session) closeAudit(log *audit.File) {
	if log == nil {
		return
	}
	if err := log.Close(); err != nil {
		s.Warn(tool.AsError(err))
	}
}

// Did notes what the command has done, for the record, where its arguments do not say it.
func (s *Session) Did(format string, args ...any) {
	s.did = append(s.did, fmt.Sprintf(format, args...))
}

// Record puts on record what the user of this process did, with the command's outcome.
func (s *Session) Record(action, object string, outcome error) error {
	if s.settings == nil {
		s.Quiet = true
		_ = s.Configure(true) // a command that does not read the file may have run with a broken one
	}
	log, _, err := s.openAudit(s.Settings(), "")
	if log != nil {
		r := audit.Record{Action: action, Object: object, Caller: setup.CLI, UID: new(os.Getuid()), Message: strings.Join(s.did, "; ")}
		err = log.Write(Act(r, outcome))
		err = errors.Join(err, log.Close())
	}
	if err != nil {
		return tool.Errorf(tool.CodeOf(err), "%s is not on record: %w", action, err)
	}
	return nil
}

// Act completes the record of something that was done, or tried.
func Act(r audit.Record, outcome error) audit.Record {
	if r.Event = audit.Admin; outcome != nil {
		r.Code, r.Message = tool.CodeOf(outcome), strings.TrimPrefix(r.Message+"; "+outcome.Error(), "; ")
	}
	return r
}

// Tell keeps what the user of this process did with a plugin where its events are.
func (s *Session) Tell(plugin, kind, text string) {
	dir, err := state.Dir()
	if err != nil {
		return // nothing is kept here
	}
	all := journal.NewStore(filepath.Join(dir, journal.Folder), func(text string, err error) {
		s.Warn(tool.Errorf(tool.CodeInternal, "%s: %w", text, err))
	})
	all.Of(plugin).Tell(hclog.Info.String(), kind, text)
	all.Close()
}
