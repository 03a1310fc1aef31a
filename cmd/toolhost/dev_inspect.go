package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/pluginsource"
	"github.com/toolhost/toolhost/internal/sanitize"
)

const aboutInspect = `Show a package: what its manifest says, the platforms, the tools with their safety and the
capabilities that they ask callers for, what the plugin needs, and who has signed it. REF is a
file, oci://HOST/REPOSITORY[:TAG][@sha256:DIGEST], or https://HOST/FILE.tar. Nothing is run or
installed, and none of the plugin's own files is fetched from a registry.

The exit status is 1 if the package has a signature that is wrong, or declares more than its
publisher may.`

func newDevInspectCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "inspect REF",
		Short: "Show a package, and who has signed it",
		Long:  aboutInspect,
		Example: `  toolhost dev inspect dist/hello-1.2.0.tar
  toolhost dev inspect oci://ghcr.io/acme/hello:1.2.0 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return inspectPackage(cmd.Context(), s, args[0]) },
	}
}

// inspected is the output of dev inspect --json.
type inspected struct {
	Reference string                 `json:"reference"`
	Digest    string                 `json:"digest"`
	Size      int64                  `json:"size"`
	Manifest  pluginpackage.Manifest `json:"manifest"`
	Signature signatureReport        `json:"signature"`
}

// signatureReport is what is known of a signature.
type signatureReport struct {
	// Key is the ID of the key; empty: there is no signature that could be read.
	Key string `json:"key,omitempty"`
	// Publisher is whose key it is, by the configuration. Empty: it is not trusted.
	Publisher string `json:"publisher,omitempty"`
	// Fault says why it is not trusted.
	Fault string `json:"fault,omitempty"`
}

func inspectPackage(ctx context.Context, s *session.Session, text string) (err error) {
	if err := s.Configure(true); err != nil { // for the publishers; the other commands of authors need none
		return err
	}
	ref, err := pluginsource.Parse(text)
	if err != nil {
		return exit.With(exit.BadUsage, err)
	}
	temp, err := os.MkdirTemp("", "toolhost-inspect-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	dir, err := os.OpenRoot(temp)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	source, err := pluginsource.Open(ctx, ref, pluginsource.Options{Dir: dir, Path: temp})
	if err != nil {
		return exit.With(exit.Failed, err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	found, err := source.Find(ctx, "")
	if err != nil {
		return exit.With(exit.Failed, err)
	}
	p := found.Package
	report := inspected{Reference: text, Digest: p.Digest.String(), Size: p.Size, Manifest: p.Manifest}
	fault := report.Signature.judge(s.Settings().Config.Trust.Publishers, p)
	if s.Flags.JSON {
		return s.Out.Report(report, fault)
	}
	report.print(s)
	return fault
}

// judge checks the signature by what the operator trusts. It returns an error for one that is
// wrong.
func (r *signatureReport) judge(publishers pluginpackage.Publishers, p *pluginpackage.Package) error {
	if id, err := p.Signer(); err == nil {
		r.Key = pluginpackage.KeyID(id)
	}
	var err error
	if r.Publisher, err = publishers.Check(p); err == nil {
		return nil
	}
	r.Fault = err.Error()
	if errors.Is(err, pluginpackage.ErrUnsigned) || errors.Is(err, pluginpackage.ErrUnknownKey) {
		return nil
	}
	return exit.With(exit.Failed, err)
}

// text is what is known of a signature, for people.
func (r signatureReport) text() string {
	if r.Publisher != "" {
		return fmt.Sprintf("by %s, with key %s", r.Publisher, r.Key)
	}
	return r.Fault
}

func (r inspected) print(s *session.Session) {
	m := r.Manifest
	var permissions []string
	for _, c := range m.Permissions() {
		permissions = append(permissions, string(c))
	}
	s.Out.Fields([]output.Field{
		{Name: "name", Value: m.Name},
		{Name: "version", Value: m.Version},
		{Name: "description", Value: sanitize.Line(m.Description, 0)},
		{Name: "license", Value: m.License},
		{Name: "source", Value: sanitize.Line(m.Source, 0)},
		{Name: "made with", Value: sanitize.Line(m.CreatedBy, 0)},
		{Name: "protocols", Value: strings.Trim(fmt.Sprint(m.Protocols), "[]")},
		{Name: "digest", Value: r.Digest},
		{Name: "size", Value: output.Size(r.Size)},
		{Name: "safety", Value: output.OrDash(levelOf(m))},
		{Name: "asks callers for", Value: output.OrDash(strings.Join(permissions, ", "))},
		{Name: "needs", Value: sanitize.Line(m.Needs.String(), 0)},
		{Name: "signed", Value: sanitize.Line(r.Signature.text(), 0)},
	})
	files := output.Table{{"PLATFORM", "SIZE", "SBOM", "SHA256"}}
	for _, p := range m.PlatformNames() {
		kind := map[string]string{pluginpackage.MediaTypeCycloneDX: "CycloneDX", pluginpackage.MediaTypeSPDX: "SPDX"}[m.SBOM[p].MediaType]
		files.Add(p, output.Size(m.Platforms[p].Size), output.OrDash(kind), m.Platforms[p].SHA256())
	}
	s.Out.Printf("\n")
	s.Out.Table(files)
	if len(m.Definitions) == 0 {
		return
	}
	tools := output.Table{{"TOOL", "SAFETY", "PERMISSION", "DESCRIPTION"}}
	for _, d := range m.Definitions {
		tools.Add(d.Name, d.Safety.Effective().String(), output.OrDash(string(d.Permission)), output.FirstLine(d.Description))
	}
	s.Out.Printf("\n")
	s.Out.Table(tools)
}
