package main

import (
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/llmschema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func formatNames() []string {
	var out []string
	for _, f := range llmschema.Formats() {
		out = append(out, string(f))
	}
	return out
}

func parseFormat(name string) (llmschema.Format, error) {
	f, err := llmschema.ParseFormat(name)
	if err != nil {
		return "", exit.With(exit.BadUsage, err)
	}
	return f, nil
}

// exportTools prints JSON with or without --json, which adds the notes.
func exportTools(s *session.Session, format llmschema.Format, tools []host.Tool, strict bool) error {
	var all []tool.Definition
	for _, t := range tools {
		if !t.Own { // which models are not shown
			all = append(all, t.Definition)
		}
	}
	var opts []llmschema.Option
	if strict {
		opts = append(opts, llmschema.Strict())
	}
	offer, err := llmschema.Export(format, all, opts...)
	if err != nil {
		return exit.With(exit.BadUsage, err)
	}
	if s.Flags.JSON {
		return s.Out.JSON(offer)
	}
	for _, text := range offer.Warnings {
		s.Warn(&tool.Error{Message: text})
	}
	for _, n := range offer.Notes {
		if len(n.Rewritten) > 0 {
			s.Notef("tool %s for %s: %s", n.Tool, format, strings.Join(n.Rewritten, "; "))
		}
		if len(n.Lost) > 0 {
			s.Warn(&tool.Error{Message: fmt.Sprintf("tool %s for %s: a model is not told %s", n.Tool, format, strings.Join(n.Lost, "; "))})
		}
		if n.Unstrict != "" {
			s.Notef("tool %s for %s is not strict: %s", n.Tool, format, n.Unstrict)
		}
		if n.LeftOut != "" {
			s.Warn(&tool.Error{Message: fmt.Sprintf("tool %s is left out for %s: %s", n.Tool, format, n.LeftOut)})
		}
	}
	_, _ = s.Out.Write(offer.Tools) // errors of writing are reported at the end
	return nil
}

// noted is what becomes of a tool for models.
type noted struct {
	Format llmschema.Format `json:"format"`
	llmschema.Note
}

// notesOf returns what becomes of a tool in the formats that do not take it as it is.
func notesOf(d tool.Definition) []noted {
	var out []noted
	for _, f := range llmschema.Formats() {
		offer, err := llmschema.Export(f, []tool.Definition{d})
		if err != nil {
			continue // the format is known
		}
		for _, n := range offer.Notes {
			out = append(out, noted{f, n})
		}
	}
	return out
}

// lines returns the note as text.
func (n noted) lines() []string {
	var out []string
	for _, text := range n.Rewritten {
		out = append(out, string(n.Format)+": "+text)
	}
	for _, text := range n.Lost {
		out = append(out, string(n.Format)+": a model is not told "+text)
	}
	if n.LeftOut != "" {
		out = append(out, string(n.Format)+": left out: "+n.LeftOut)
	}
	return out
}
