package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/internal/sanitize"
)

func (a *app) configInitCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a configuration file to start from",
		Long: `Write a configuration file to start from: every setting, explained and commented out,
so that it changes nothing until somebody edits it. A file that is there stays as it
is, without --force. The file that this writes is trusted, as it is; when you have edited
it: toolhost trust.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			a.nameConfig(args)
			return a.initConfig(force)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace the file that is there")
	return cmd
}

func (a *app) initConfig(force bool) error {
	path, _, err := a.configPath()
	if err != nil {
		return &failure{exitUsage, err}
	}
	err = writeWhole(path, config.Initial(), force)
	switch {
	case errors.Is(err, fs.ErrExist):
		return usage(sanitize.Text(path)+" is there already, and was left as it is", "name another file, or say --force to replace it")
	case err != nil:
		return &failure{exitFailed, fmt.Errorf("%s was not written: %w", sanitize.Text(path), err)}
	}
	a.trustAnew(path, fmt.Sprintf("%x", sha256.Sum256(config.Initial()))) // its author has just had it written
	if a.json {
		return a.out.json(map[string]string{"file": path})
	}
	shown := sanitize.Text(path)
	a.out.printf("wrote %s\nedit it, then: toolhost config check %s, and toolhost trust %s\n", shown, shown, shown)
	return nil
}

// writeWhole makes a file that has all of its content from the moment on that it is
// there. One that is there already is replaced or is [fs.ErrExist].
func writeWhole(path string, content []byte, replace bool) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if bad := os.Remove(f.Name()); bad != nil && !errors.Is(bad, fs.ErrNotExist) {
			err = errors.Join(err, bad)
		}
	}()
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if replace {
		return os.Rename(f.Name(), path)
	}
	return os.Link(f.Name(), path) // which a rename would not refuse
}
