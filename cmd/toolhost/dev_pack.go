package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aead.dev/minisign"
	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pack"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/pluginsource"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const aboutPack = `Make a package of a plugin for several platforms: one file for a web server, a registry or a stick.
DIR (default: .) has a plugin.yaml, whose paths are relative to it; flags take precedence:

  name: hello          # and version: what the plugin says, if left out
  version: 1.2.0
  description: Says hello.
  license: Apache-2.0  # an SPDX expression
  license_file: LICENSE
  source: https://example.com/hello
  binaries:
    linux/amd64: dist/hello-linux-amd64
    darwin/arm64: dist/hello-darwin-arm64   # or any: FILE, for a script
  sbom: sbom.json      # CycloneDX or SPDX; made of each binary, if left out

The binary for this platform is run, confined to what it declares (sandbox level strict), and
asked for its tools and needs. If none runs here, --definitions takes what another machine
printed with --print-definitions.

The same input makes the same file, byte for byte. With --sign it is signed with a key of
toolhost dev keygen, or of minisign.

--push sends it to a registry, or a FILE that was packed before, under the tag of its version
unless REF names another. Credentials are Docker's. A tag that another package has stays, unless
--force moves it.

Without --output, dist/index.json lists it, so that any web server can offer that directory.

--yank, --deprecate and --advisory change what is said of versions that are out, in the registry of
--push, else in dist/index.json. VERSION * is every one; no TEXT takes back. Sign as the packages are.`

// packCommand is toolhost dev pack.
type packCommand struct {
	s                           *session.Session
	project                     pack.Project // what flags say
	binaries                    []string
	out, key, definitions, push string
	force, printDefinitions     bool
	words                       passwords
	yank, deprecate, advisory   []string // notices, as VERSION=TEXT
}

func newDevPackCommand(s *session.Session) *cobra.Command {
	c := packCommand{s: s}
	cmd := &cobra.Command{
		Use:   "pack [DIR | FILE]",
		Short: "Make a package of a plugin, and push it to a registry",
		Long:  aboutPack,
		Example: `  toolhost dev pack
  toolhost dev pack --sign acme.key --push oci://ghcr.io/acme/hello
  toolhost dev pack dist/hello-1.2.0.tar --push oci://ghcr.io/acme/hello
  toolhost dev pack --yank "1.1.0=it deletes files" --sign acme.key
  toolhost dev pack --binary any=./hello --license MIT -o hello.tar`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), append(args, ".")[0]) },
	}
	f := cmd.Flags()
	f.StringVarP(&c.out, "output", "o", "", "write the package to `FILE` (default: dist/NAME-VERSION.tar in DIR)")
	f.StringVar(&c.key, "sign", "", "sign it with the secret key in `FILE`")
	c.words.bind(cmd)
	f.StringVar(&c.push, "push", "", "push it to the repository `REF`, oci://HOST/REPOSITORY[:TAG]")
	f.BoolVar(&c.force, "force", false, "with --push: move a tag that another package has")
	f.StringVar(&c.definitions, "definitions", "", "run no binary, and take what --print-definitions printed from `FILE`")
	f.BoolVar(&c.printDefinitions, "print-definitions", false, "print what the plugin says of itself, and pack nothing")
	f.StringArrayVar(&c.yank, "yank", nil, "pack nothing, withdraw `VERSION=REASON`")
	f.StringArrayVar(&c.deprecate, "deprecate", nil, "the same, with what to use instead: `VERSION=TEXT`")
	f.StringArrayVar(&c.advisory, "advisory", nil, "the same, with what is wrong: `VERSION=TEXT`")
	p := &c.project
	f.StringVar(&p.Name, "name", "", "the plugin's `NAME`")
	f.StringVar(&p.Version, "version", "", "its `VERSION`")
	f.StringVar(&p.Description, "description", "", "what it is for, one line of `TEXT`")
	f.StringVar(&p.License, "license", "", "its licence, an `SPDX` expression")
	f.StringVar(&p.LicenseFile, "license-file", "", "the text of the licence, a `FILE`")
	f.StringVar(&p.Source, "source", "", "the `URL` of its source")
	f.StringVar(&p.SBOM, "sbom", "", "its SBOM, a `FILE` with CycloneDX or SPDX as JSON")
	f.StringArrayVar(&c.binaries, "binary", nil, "a file for a platform, as `PLATFORM=FILE` (repeatable, in place of plugin.yaml's)")
	for _, name := range []string{"output", "sign", "definitions", "license-file", "sbom"} {
		_ = cmd.MarkFlagFilename(name)
	}
	cmd.MarkFlagsMutuallyExclusive("definitions", "print-definitions")
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return cmd
}

// read reads the project, with what flags say in place of it. Paths of flags are relative to the
// current directory.
func (c *packCommand) read(dir string) (pack.Project, error) {
	p, err := pack.ReadProject(dir)
	if err != nil {
		return p, exit.With(exit.BadUsage, err)
	}
	absolute := func(path string) string {
		if abs, err := filepath.Abs(path); err == nil && path != "" {
			return abs
		}
		return path
	}
	f := c.project
	p.Name, p.Version, p.Description = cmp.Or(f.Name, p.Name), cmp.Or(f.Version, p.Version), cmp.Or(f.Description, p.Description)
	p.License, p.Source = cmp.Or(f.License, p.License), cmp.Or(f.Source, p.Source)
	p.LicenseFile, p.SBOM = cmp.Or(absolute(f.LicenseFile), p.LicenseFile), cmp.Or(absolute(f.SBOM), p.SBOM)
	if len(c.binaries) > 0 {
		p.Binaries = map[string]string{}
	}
	for _, text := range c.binaries {
		platform, file, ok := strings.Cut(text, "=")
		if !ok || file == "" {
			return p, exit.Usage(fmt.Sprintf("--binary %s has no file", sanitize.Quote(text, 100)), "write --binary linux/amd64=dist/hello")
		}
		p.Binaries[platform] = absolute(file)
	}
	return p, nil
}

func (c *packCommand) run(ctx context.Context, dir string) error {
	if len(c.yank)+len(c.deprecate)+len(c.advisory) > 0 {
		return c.notify(ctx, dir)
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return c.pushFile(ctx, dir)
	}
	p, err := c.read(dir)
	if err != nil {
		return err
	}
	if !c.printDefinitions {
		err = p.Check()
	}
	if err != nil {
		return exit.With(exit.BadUsage, err)
	}
	var target *pack.Target
	if c.push != "" {
		if target, err = pack.ParseTarget(c.push); err != nil {
			return exit.With(exit.BadUsage, err)
		}
	}
	key, err := c.secret(ctx) // before the plugin runs, as it may ask
	if err != nil {
		return err
	}
	about, err := c.describe(ctx, p)
	if err != nil {
		return exit.With(exit.Failed, err)
	}
	if c.printDefinitions {
		return c.s.Out.JSON(about)
	}
	built, err := p.Build(ctx, about, key)
	if err != nil {
		return exit.With(exit.Failed, err)
	}
	out, err := c.write(ctx, p, built)
	if err != nil {
		return exit.With(exit.Failed, err)
	}
	if target == nil {
		return c.report(built, out, nil)
	}
	pushed, err := push(ctx, c.s, target, built, c.force)
	if err != nil {
		return err
	}
	return c.report(built, out, &pushed)
}

// secret reads the key of --sign; nil: there is none.
func (c *packCommand) secret(ctx context.Context) (*minisign.PrivateKey, error) {
	if c.key == "" {
		return nil, nil //nolint:nilnil // nothing is signed
	}
	key, err := pack.ReadKey(c.key, func() (string, error) { return c.words.ask(ctx, c.key) })
	if err != nil {
		return nil, exit.With(exit.BadUsage, err)
	}
	return &key, nil
}

func (c *packCommand) describe(ctx context.Context, p pack.Project) (pack.Description, error) {
	if c.definitions != "" {
		return pack.ReadDescription(c.definitions)
	}
	log, err := c.s.Logger()
	if err != nil {
		return pack.Description{}, err
	}
	return p.Describe(ctx, log)
}

func (c *packCommand) write(ctx context.Context, p pack.Project, built *pluginpackage.Package) (string, error) {
	if c.out != "" {
		return c.out, pack.Write(ctx, built, c.out)
	}
	dist, m := filepath.Join(p.Dir, "dist"), built.Manifest
	if err := os.MkdirAll(dist, 0o755); err != nil { //nolint:gosec // next to the author's sources
		return "", err
	}
	index, err := pluginsource.OpenIndex(dist)
	if err != nil {
		return "", fmt.Errorf("%s: %w: to write elsewhere, use --output", dist, err)
	}
	name := m.Name + "-" + m.Version + ".tar"
	out := filepath.Join(dist, name)
	if err := pack.Write(ctx, built, out); err != nil {
		return "", err
	}
	info, err := os.Stat(out)
	if err != nil {
		return "", err
	}
	index.Add(m.Name, pluginsource.IndexEntry{Version: m.Version, File: name, Digest: built.Digest, Size: info.Size()})
	return out, index.Write(dist)
}

// packReport is the output of dev pack --json.
type packReport struct {
	File   string                 `json:"file"`
	Digest string                 `json:"digest"` // of the package, in every carrier
	Size   int64                  `json:"size"`
	Key    string                 `json:"key,omitempty"` // that signed it
	About  pluginpackage.Manifest `json:"manifest"`
	Pushed *pack.Pushed           `json:"pushed,omitempty"`
}

func (c *packCommand) report(p *pluginpackage.Package, file string, pushed *pack.Pushed) error {
	r := packReport{File: file, Digest: p.Digest.String(), Size: p.Size, About: p.Manifest, Pushed: pushed}
	signed := "not signed: operators who demand signatures cannot install it (--sign FILE)"
	if id, err := p.Signer(); err == nil {
		r.Key = pluginpackage.KeyID(id)
		signed = "signed with key " + r.Key
	}
	if c.s.Flags.JSON {
		return c.s.Out.JSON(r)
	}
	m := p.Manifest
	c.s.Out.Printf("%s %s for %s, %d tools, needs %s\n%s\n%s\n%s\n", m.Name, m.Version, strings.Join(m.PlatformNames(), ", "),
		len(m.Definitions), sanitize.Line(m.Needs.String(), 1000), signed, sanitize.Text(file), r.Digest)
	if pushed != nil {
		c.s.Out.Printf("pushed %s\n", pushed.Reference)
	}
	return nil
}

// levelOf is the highest level of a package's tools, for people.
func levelOf(m pluginpackage.Manifest) string {
	if level := m.MaxSafety(); level != tool.Unset {
		return level.String()
	}
	return ""
}
