package main

import (
	"context"
	"errors"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/installer"
	"github.com/toolhost/toolhost/internal/pluginsource"
)

func parseRef(text string) (pluginsource.Ref, error) {
	ref, err := pluginsource.Parse(text)
	if err != nil {
		return ref, exit.With(exit.BadUsage, err)
	}
	return ref, nil
}

func parseRefs(texts []string) (out []pluginsource.Ref, err error) {
	for _, text := range texts {
		ref, err := parseRef(text)
		if err != nil {
			return nil, err
		}
		out = append(out, ref)
	}
	return out, nil
}

// refs installs the packages that are named, one after the other; check: it says what each is, and fails if
// one would change anything.
func (i *install) refs(ctx context.Context, texts []string, check bool) error {
	refs, err := parseRefs(texts)
	if err != nil {
		return err
	}
	if len(refs) == 1 && !check {
		return i.report(i.one(ctx, installer.Wish{Ref: refs[0], Version: i.flags.version}))
	}
	all, failed := []installation{}, error(nil)
	for _, ref := range refs {
		w := installer.Wish{Ref: ref, Version: i.flags.version}
		var done installation
		if check {
			done.Plan, err = i.look(ctx, w)
		} else {
			done, err = i.one(ctx, w)
		}
		failed = errors.Join(failed, err)
		switch {
		case done.Plugin == "":
		case i.s.Flags.JSON:
			all = append(all, done)
		case check:
			i.s.Out.Text(done.Text())
		case err == nil:
			i.s.Out.Text(done.text())
		}
	}
	if i.s.Flags.JSON {
		return i.s.Out.Report(map[string]any{"plugins": all}, failed)
	}
	if !check {
		i.noteUnserved()
	}
	return failed
}

// look returns what would be installed, and an error if that would change anything, or something is to be known of it.
func (i *install) look(ctx context.Context, w installer.Wish) (installer.Plan, error) {
	w.Downgrade, w.Force, w.Pinned = i.flags.downgrade, i.flags.force, i.lock.pinned()
	c, err := i.Find(ctx, w)
	if err != nil {
		return installer.Plan{}, err
	}
	switch {
	case c.Plan.Action != installer.Nothing || !i.lock.has(c.Plan):
		err = exit.With(exit.Failed, errors.New(c.Plan.String()+" is not installed and pinned"))
	case len(c.Plan.Notices) > 0:
		err = exit.With(exit.Failed, errors.New("of "+c.Plan.String()+", "+plural(len(c.Plan.Notices), "notice")))
	}
	return c.Plan, errors.Join(err, c.Close())
}
