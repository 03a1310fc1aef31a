package main

import (
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// auditVariable names the audit log where no flag does.
const auditVariable = "TOOLHOST_AUDIT"

// noAudit, in place of a path, keeps no record.
const noAudit = "off"

// record puts calls on record, in the file that a flag, the environment or else
// the user's state directory names. A file that somebody named has to be usable;
// without the default one, calls go on and a warning says so. The function closes
// it.
func (a *app) record(path string) ([]host.Option, func(), error) {
	none := func() {}
	logger, err := a.logger()
	if err != nil {
		return nil, none, err
	}
	path = chosen(path, a.configured().Audit.Path, auditVariable)
	if path == noAudit {
		return nil, none, nil
	}
	named := path != ""
	var log *audit.File
	if !named {
		path, err = audit.DefaultPath()
	}
	if err == nil {
		log, err = audit.Open(path, audit.Options{Warn: func(text string) { logger.Warn(text) }})
	}
	switch {
	case err == nil:
		return []host.Option{host.WithAudit(log), host.WithProtected(path, path+".lock")}, func() { a.closeRecord(log) }, nil
	case named:
		return nil, none, &failure{exitUsage, err}
	}
	fault := *tool.AsError(err)
	fault.Message = "this call is not put on record: " + fault.Message
	fault.Hint = "name another file with --audit or " + auditVariable + ", or say --audit " + noAudit
	a.warn(&fault)
	return nil, none, nil
}

// closeRecord says which calls are not on record after all.
func (a *app) closeRecord(log *audit.File) {
	if err := log.Close(); err != nil {
		a.warn(tool.AsError(err))
	}
}
