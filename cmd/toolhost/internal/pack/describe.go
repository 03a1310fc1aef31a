package pack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Description is what a plugin says of itself, as a file that another machine can pack with.
type Description struct {
	Name      string            `json:"name"`
	Version   string            `json:"version"`
	SDK       string            `json:"sdk,omitempty"`
	Protocols []int             `json:"protocols"`
	Tools     []tool.Definition `json:"tools"`
	// Needs is what it declares; nil: nothing.
	Needs *tool.Needs `json:"needs"`
}

// maxDescription bounds such a file, in bytes.
const maxDescription = pluginpackage.MaxManifest

// ReadDescription reads what [Describe] returned on another machine, as JSON.
//
// # Errors
//
// Those of reading the file, and a plain error if it is something else.
func ReadDescription(path string) (d Description, err error) {
	text, err := readFile(path, maxDescription)
	if err != nil {
		return d, err
	}
	if err := json.Unmarshal(text, &d); err != nil || len(d.Protocols) == 0 {
		return d, fmt.Errorf("%s is not what toolhost dev pack --print-definitions prints", path)
	}
	return d, nil
}

// Describe runs the plugin's file for this platform, confined to what it declares, and returns
// what it says of itself. A host has taken it: its tools were registered as when it is installed.
//
// # Errors
//
// A plain error if no file is for this platform; those of starting a plugin, and of registering its
// tools.
func (p Project) Describe(ctx context.Context, log hclog.Logger) (d Description, err error) {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	file := cmp.Or(p.Binaries[platform], p.Binaries[pluginpackage.AnyPlatform])
	if file == "" {
		return d, fmt.Errorf("no file is for %s, so none can be asked for its tools here: on a machine that can run one of %s, "+
			"use toolhost dev pack --print-definitions > FILE, and --definitions FILE here", platform, strings.Join(p.Platforms(), ", "))
	}
	dir, err := os.MkdirTemp("", "th-pack-") // short, as it has a socket
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, sub := range []string{"bin", "root", "temp"} { // apart: a plugin does not see what is temporary of others
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return d, err
		}
	}
	name := cmp.Or(p.Name, pluginrun.NameOf(filepath.Base(file)))
	copied, err := place(filepath.Join(dir, "bin"), name, p.path(file))
	if err != nil {
		return d, err
	}
	settings := plugin.DefaultSettings()
	settings.Sandbox.Level = plugin.Strict
	h, err := host.New(host.WithRoot(filepath.Join(dir, "root")), host.WithLogger(log))
	if err != nil {
		return d, err
	}
	one := pluginrun.New(plugin.Candidate{Name: name, Path: copied}, pluginrun.Config{
		Settings: settings, Root: filepath.Join(dir, "root"), TempDir: filepath.Join(dir, "temp"), Logger: log, HostVersion: host.Version,
	})
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
	if _, err := h.Attach(ctx, name, one); err != nil {
		return d, fmt.Errorf("%s was started to ask for its tools: %w", p.path(file), err)
	}
	about, ok := one.Description()
	if !ok {
		return d, fmt.Errorf("%s does not describe itself", p.path(file))
	}
	return Description{about.Name, about.Version, about.SDK, []int{wire.ProtocolVersion}, about.Tools, about.Needs}, nil
}

// place copies a file into a directory that only this user can change.
func place(dir, name, from string) (path string, err error) {
	path = filepath.Join(dir, name)
	in, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700) //nolint:gosec // a program
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, io.LimitReader(in, pluginpackage.MaxSize))
	return path, errors.Join(err, out.Close())
}
