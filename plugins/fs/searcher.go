package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"regexp"

	"github.com/toolhost/toolhost/plugins/internal/lines"
	"github.com/toolhost/toolhost/plugins/internal/workspace"
)

// searcher is one search.
type searcher struct {
	ws      *workspace.Workspace
	pattern *regexp.Regexp
	context int
	limit   int
	size    int // of the found lines, in bytes
	out     searchOut
}

// tree searches the files below a directory.
func (s *searcher) tree(ctx context.Context, in searchIn, match func(workspace.Entry) bool) error {
	o := workspace.WalkOptions{Recursive: true, SkipHidden: !in.Hidden}
	if !in.Ignored {
		o.Ignore = workspace.SearchRules()
	}
	unreadable, err := s.ws.Walk(ctx, in.Path, o, func(e workspace.Entry) error {
		if e.Kind != workspace.File || match != nil && !match(e) {
			return nil
		}
		err := s.entry(ctx, e)
		switch {
		case err == nil, errors.Is(err, workspace.ErrEnough), ctx.Err() != nil:
			return err
		case !errors.Is(err, fs.ErrNotExist): // it may have been deleted
			s.unreadable(e.Path)
		}
		return nil
	})
	for _, dir := range unreadable {
		s.unreadable(dir)
	}
	return err
}

func (s *searcher) unreadable(path string) {
	if len(s.out.Unreadable) < workspace.MaxUnreadable {
		path, _ = workspace.Escape(path)
		s.out.Unreadable = append(s.out.Unreadable, path)
	}
}

func (s *searcher) entry(ctx context.Context, e workspace.Entry) error {
	f, err := s.ws.OpenEntry(e)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return s.file(e.Path, workspace.Reader(ctx, f))
}

// named searches the one file that the caller named.
func (s *searcher) named(ctx context.Context, given string) error {
	f, err := s.ws.Open(given)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	name, err := workspace.Clean(given)
	if err != nil {
		return err
	}
	if err := s.file(name, workspace.Reader(ctx, f)); !errors.Is(err, workspace.ErrEnough) {
		return s.ws.Explain(given, err)
	}
	return nil
}

// file searches one file.
func (s *searcher) file(path string, r io.Reader) error {
	in := lines.NewScanner(r)
	binary, err := in.Binary()
	if err != nil {
		return err
	}
	if binary {
		s.out.Binary++
		return nil
	}
	s.out.Searched++
	path, _ = workspace.Escape(path)
	w := window{size: s.context}
	found := searchFile{Path: path}
	err = s.lines(in, &w, &found)
	if len(found.Lines) > 0 {
		s.out.Files = append(s.out.Files, found)
	}
	return err
}

func (s *searcher) lines(in *lines.Scanner, w *window, found *searchFile) error {
	cut := false
	for {
		l, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if errors.Is(err, lines.ErrBinary) {
			s.out.Binary++
			return nil
		}
		if err != nil {
			return err
		}
		if l.Cut && !cut {
			cut = true
			s.out.Partly = append(s.out.Partly, found.Path)
		}
		if err := s.line(l, w, found); err != nil {
			return err
		}
	}
}

func (s *searcher) line(l lines.Line, w *window, found *searchFile) error {
	at := l.Find(s.pattern, 1)
	if len(at) == 0 {
		if w.after > 0 {
			w.after--
			return s.add(found, searchLine{Line: l.Number, Text: lines.Around(l.Text, 0)})
		}
		w.add(l)
		return nil
	}
	if s.out.Matches == s.limit {
		s.out.Truncated = true
		return workspace.ErrEnough
	}
	for _, before := range w.startMatch() {
		if err := s.add(found, before); err != nil {
			return err
		}
	}
	s.out.Matches++
	return s.add(found, searchLine{Line: l.Number, Column: lines.Column(l.Text, at[0][0]), Text: lines.Around(l.Text, at[0][0])})
}

func (s *searcher) add(found *searchFile, l searchLine) error {
	found.Lines = append(found.Lines, l)
	if s.size += len(l.Text); s.size > maxFound {
		s.out.Truncated = true
		return workspace.ErrEnough
	}
	return nil
}

// window keeps the lines around a match.
type window struct {
	size   int
	before []searchLine
	after  int // how many lines are still to be shown
}

func (w *window) add(l lines.Line) {
	if w.size == 0 {
		return
	}
	if len(w.before) == w.size {
		w.before = append(w.before[:0], w.before[1:]...)
	}
	w.before = append(w.before, searchLine{Line: l.Number, Text: lines.Around(l.Text, 0)})
}

// startMatch returns the lines before a match, and starts to show those after it.
func (w *window) startMatch() []searchLine {
	before := w.before
	w.before, w.after = nil, w.size
	return before
}
