package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aead.dev/minisign"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pack"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/pluginsource"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// notify changes what is said of versions, in a registry or in the index of a directory.
func (c *packCommand) notify(ctx context.Context, dir string) (err error) {
	place := c.push
	if place == "" {
		if _, err := os.Stat(filepath.Join(dir, pluginsource.IndexName)); err != nil {
			dir = filepath.Join(dir, "dist")
		}
		place = dir
		if c.project.Name != "" {
			place += "#" + c.project.Name
		}
	}
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
	said, err := source.Notices(ctx)
	if err != nil {
		return exit.With(exit.Failed, err)
	}
	if err := c.change(ctx, source, key, &said); err != nil {
		return err
	}
	sealed, err := said.Seal(key)
	switch {
	case err != nil:
	case target != nil:
		err = target.Say(ctx, sealed)
	default:
		var index pluginsource.Index
		if index, err = pluginsource.OpenIndex(dir); err == nil {
			index.Notices[said.Plugin] = sealed
			err = index.Write(dir)
		}
	}
	if err != nil {
		return exit.With(exit.Failed, err)
	}
	return c.s.Answer(map[string]any{"plugin": said.Plugin, "versions": said.Versions}, "%s: the notices in %s have changed\n", said.Plugin, place)
}

// change makes the changes of the flags, for versions that there are and with their key.
func (c *packCommand) change(ctx context.Context, from *pluginsource.Source, key *minisign.PrivateKey, said *pluginpackage.Notices) error {
	if said.Versions == nil {
		said.Versions = map[string]pluginpackage.Notice{}
	}
	for _, flag := range []struct {
		name   string
		values []string
		set    func(*pluginpackage.Notice, string)
	}{
		{"yank", c.yank, func(n *pluginpackage.Notice, text string) { n.Yanked = text }},
		{"deprecate", c.deprecate, func(n *pluginpackage.Notice, text string) { n.Deprecated = text }},
		{"advisory", c.advisory, func(n *pluginpackage.Notice, text string) { n.Advisory = text }},
	} {
		for _, value := range flag.values {
			version, text, ok := strings.Cut(value, "=")
			if !ok {
				return exit.Usage(fmt.Sprintf("--%s %s has no text", flag.name, sanitize.Quote(value, 100)),
					fmt.Sprintf("write --%s %q: users read it; an empty one takes back what was said", flag.name, version+"=TEXT"))
			}
			sample := version
			if version == pluginpackage.EveryVersion {
				sample = ""
			}
			found, err := from.Find(ctx, sample)
			if err != nil {
				return exit.With(exit.Failed, err)
			}
			if found.Signature != nil && (key == nil || !found.SignedBy(fmt.Sprint(key.Public()))) {
				return exit.Usage(fmt.Sprintf("version %s is signed with key %s, and who installed it takes notices by this key only",
					found.Manifest.Version, found.Key()), "give that key: --sign FILE")
			}
			one := said.Versions[version]
			flag.set(&one, text)
			if said.Versions[version] = one; one == (pluginpackage.Notice{}) {
				delete(said.Versions, version)
			}
			said.Plugin = found.Manifest.Name
		}
	}
	return nil
}
