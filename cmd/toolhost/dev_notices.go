package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"aead.dev/minisign"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pack"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/pluginsource"
	"github.com/toolhost/toolhost/internal/sanitize"
)

type notices = pluginpackage.Notices

// notify changes what is said of versions, in a registry or in the index of a directory.
func (c *packCommand) notify(ctx context.Context, dir string) (err error) {
	dist := filepath.Join(dir, "dist")
	place := cmp.Or(c.push, dist)
	ref, err := parseRef(place)
	if err != nil {
		return err
	}
	var target *pack.Target
	if c.push != "" {
		if target, err = pack.ParseTarget(c.push); err != nil {
			return exit.With(exit.BadUsage, err)
		}
	}
	key, err := c.secret(ctx)
	if err != nil {
		return err
	}
	source, err := pluginsource.Open(ctx, ref, pluginsource.Options{})
	if err != nil {
		return exit.With(exit.Failed, err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	said, err := source.Notices.Parse()
	if err != nil {
		return exit.With(exit.Failed, err)
	}
	// Whoever can write there must not get the publisher's signature for a text of theirs.
	if said.Serial > 0 && key != nil && !source.Notices.SignedBy([]string{fmt.Sprint(key.Public())}) {
		return exit.With(exit.Refused, fmt.Errorf("the notices in %s are not signed with this key, so this would sign what others may have "+
			"written: look at them, remove them there, and say what holds again", sanitize.Line(place, 300)))
	}
	flags := map[string][]string{pluginpackage.Yanked: c.yank, "deprecated": c.deprecate, "advisory": c.advisory}
	for kind, values := range flags {
		for _, value := range values {
			if err := say(ctx, source, key, &said, kind, value); err != nil {
				return err
			}
		}
	}
	sealed, err := said.Seal(key)
	if err == nil && target != nil {
		err = target.Say(ctx, sealed)
	} else if err == nil {
		var index pluginsource.Index
		if index, err = pluginsource.OpenIndex(dist); err == nil {
			index.Notices[said.Plugin] = sealed
			err = index.Write(dist)
		}
	}
	if err != nil {
		return exit.With(exit.Failed, err)
	}
	return c.s.Answer(said, "%s: the notices in %s have changed\n", said.Plugin, place)
}

// say changes what is said of a version that there is, if the key is the one that signed it.
func say(ctx context.Context, from *pluginsource.Source, key *minisign.PrivateKey, n *notices, kind, value string) error {
	version, text, ok := strings.Cut(value, "=")
	if !ok {
		return exit.Usage(sanitize.Quote(value, 100)+" has no text", "write "+version+"=TEXT; an empty one takes back")
	}
	found, err := from.Find(ctx, strings.TrimSuffix(version, pluginpackage.EveryVersion))
	if err != nil {
		return exit.With(exit.Failed, err)
	}
	if found.Signature != nil && (key == nil || !found.SignedBy(fmt.Sprint(key.Public()))) {
		return exit.Usage(fmt.Sprintf("version %s is signed with key %s, and who installed it takes notices by this key only",
			found.Manifest.Version, found.Key()), "give that key: --sign FILE")
	}
	if n.Versions == nil {
		n.Versions = map[string]pluginpackage.Notice{}
	}
	if n.Versions[version] == nil {
		n.Versions[version] = pluginpackage.Notice{}
	}
	if n.Versions[version][kind] = text; text == "" {
		delete(n.Versions[version], kind)
	}
	n.Plugin = found.Manifest.Name
	return nil
}
