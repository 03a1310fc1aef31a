package pack

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/github/go-spdx/v2/spdxexp"
	"github.com/goccy/go-yaml"

	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// ProjectFile is the name of the file that says what is packed.
const ProjectFile = "plugin.yaml"

// maxProject bounds that file, in bytes.
const maxProject = 1 << 20

// Project says what is packed: plugin.yaml, with what flags say in place of it.
type Project struct {
	// Dir is the directory that paths are relative to.
	Dir string `yaml:"-"`

	// Name and Version are those that the plugin says of itself. Empty: whatever it says.
	Name    string `yaml:"name"`
	Version string `yaml:"version"`
	// Description, License and Source are those of [pluginpackage.Manifest].
	Description string `yaml:"description"`
	License     string `yaml:"license"`
	Source      string `yaml:"source"`
	// LicenseFile is the path of the licence's text. Empty: the package has none.
	LicenseFile string `yaml:"license_file"`
	// Binaries are the paths of the plugin's files by platform, such as linux/amd64, or any.
	Binaries map[string]string `yaml:"binaries"`
	// SBOM is the path of an SBOM for all of them, CycloneDX or SPDX as JSON. Empty: each has
	// one of its own that is made from it.
	SBOM string `yaml:"sbom"`
}

// ReadProject reads the plugin.yaml of a directory. Without one the project is empty.
//
// # Errors
//
// A plain error that says what is wrong, with the line.
func ReadProject(dir string) (Project, error) {
	p := Project{Dir: dir}
	path := filepath.Join(dir, ProjectFile)
	text, err := readFile(path, maxProject)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	if err := yaml.UnmarshalWithOptions(text, &p, yaml.Strict()); err != nil && !errors.Is(err, io.EOF) {
		return p, fmt.Errorf("%s: %s", path, sanitize.Text(yaml.FormatError(err, false, true)))
	}
	return p, nil
}

// readFile reads a file of the author's, of at most so many bytes.
func readFile(path string, limit int64) ([]byte, error) {
	f, info, err := safefile.OpenTarget(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info.Size() > limit {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", path, info.Size(), limit)
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// path is a path of the project's.
func (p Project) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(p.Dir, name)
}

// Platforms are the platforms of the files, sorted.
func (p Project) Platforms() []string { return slices.Sorted(maps.Keys(p.Binaries)) }

// check returns what is missing or wrong, before anything is run.
func (p Project) check() error {
	missing := func(key, example string) error {
		return fmt.Errorf("%s has no %s: add it there, such as %s, or use the flag --%s", filepath.Join(p.Dir, ProjectFile), key, example, key)
	}
	switch {
	case len(p.Binaries) == 0:
		return fmt.Errorf("%s has no binaries: list them there by platform, such as linux/amd64: dist/hello, or use --binary linux/amd64=dist/hello",
			filepath.Join(p.Dir, ProjectFile))
	case p.Description == "":
		return missing("description", "\"Says hello.\"")
	case p.License == "":
		return missing("license", "Apache-2.0")
	}
	if ok, _ := spdxexp.ValidateLicenses([]string{p.License}); !ok {
		return fmt.Errorf("%s is not a licence expression of SPDX: use one such as Apache-2.0 or MIT (https://spdx.org/licenses), or LicenseRef-NAME",
			sanitize.Quote(p.License, 100))
	}
	for _, platform := range p.Platforms() {
		if err := checkPlatform(p.path(p.Binaries[platform]), platform); err != nil {
			return err
		}
	}
	return nil
}

// input returns what the package is built from, but for what the plugin says of itself.
func (p Project) input() (pluginpackage.Input, error) {
	in := pluginpackage.Input{
		Manifest: pluginpackage.Manifest{Description: p.Description, License: p.License, Source: p.Source},
		Files:    map[string]string{},
	}
	for platform, name := range p.Binaries {
		in.Files[platform] = p.path(name)
	}
	if p.LicenseFile == "" {
		return in, nil
	}
	var err error
	if in.License, err = readFile(p.path(p.LicenseFile), pluginpackage.MaxLicense); err == nil && len(in.License) == 0 {
		err = fmt.Errorf("%s is empty", p.path(p.LicenseFile))
	}
	return in, err
}
