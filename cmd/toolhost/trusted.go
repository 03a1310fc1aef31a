package main

import (
	"fmt"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/trust"
	"github.com/toolhost/toolhost/internal/protect"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// reading says on whose word a configuration file is read.
type reading int

const (
	aCommand reading = iota // a command, or a daemon that starts, goes by it
	aReload                 // an operator has a daemon read it again
	aChange                 // a daemon has noticed that it changed
)

// counts reports whether the configuration file, with content of this digest, is to be
// gone by. One that somebody named counts, one that was found only where it is trusted;
// an operator's reload goes on with the file that is in force. A change inside the root,
// which tools may have made, counts only where it is trusted, named or not.
func (a *app) counts(on reading, digest string) (bool, error) {
	path, by, err := a.configPath()
	if err != nil {
		return false, err
	}
	switch on {
	case aReload:
		if by != "" || a.config.loaded.Config.File == path {
			return true, nil
		}
	case aCommand:
		if by != "" {
			return true, nil
		}
	case aChange:
		if by != "" && !a.inRoot(path) {
			return true, nil
		}
	}
	return a.trustsContent(path, digest)
}

// inRoot reports whether a path, or where it leads, is in the workspace.
func (a *app) inRoot(path string) bool {
	root, _, err := protect.Resolve(a.root)
	if err != nil {
		return true
	}
	all, err := protect.Expand(path)
	if err != nil {
		return true
	}
	for _, at := range all {
		if protect.Within(root, at) {
			return true
		}
	}
	return false
}

// trusts reports whether the operator has trusted a file as it is now (toolhost trust).
// What a command finds in the current directory, be it a configuration, a lock or a
// list of servers, counts only then; what a flag or the environment names need not be
// asked about.
//
// # Errors
//
// That of reading the file, or the list of trusted ones: then the file does not count.
func (a *app) trusts(path string) (bool, error) {
	digest, err := contentOf(path)
	if err != nil {
		return false, err
	}
	return a.trustsContent(path, digest)
}

// trustsContent is trusts for content that was read already.
func (a *app) trustsContent(path, digest string) (bool, error) {
	s, err := trust.Open()
	if err != nil {
		return false, nil //nolint:nilerr // without such a directory nothing was ever trusted
	}
	ok, err := s.Trusts(path, digest)
	if err != nil {
		return false, fmt.Errorf("which files are trusted is not known: %w", err)
	}
	return ok, nil
}

// noteUntrusted says that a file was found and does not count. Completion is silent.
func (a *app) noteUntrusted(path string) {
	if !a.quiet {
		a.err.printf("toolhost: %s is not trusted as it is, so the defaults hold "+
			"(look at it, and: toolhost trust; or name it with --config)\n", sanitize.Text(path))
	}
}

// heldConfig says that a change is not in force.
func heldConfig(path string) *tool.Error {
	return &tool.Error{
		Code: tool.CodePermissionDenied, Message: sanitize.Text(path) + " is not in force as it is now: tools, or others, may have written it",
		Hint: "look at it, and: toolhost trust, or toolhost reload",
	}
}

// trustAnew remembers a file whose content an operator has written, or has put in force.
func (a *app) trustAnew(path, digest string) {
	s, err := trust.Open()
	if err == nil {
		err = s.Trust(path, digest)
	}
	if err != nil {
		a.warn(&tool.Error{
			Message: "it is not remembered that " + sanitize.Text(path) + " is trusted: " + err.Error(),
			Hint:    "name it with --config",
		})
	}
}
