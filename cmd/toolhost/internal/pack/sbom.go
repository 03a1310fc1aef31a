package pack

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/toolhost/toolhost/internal/pluginpackage"
)

// sboms returns an SBOM for each platform: the author's file, or one of what each of the plugin's
// files says of itself.
func (p Project) sboms(ctx context.Context, m pluginpackage.Manifest) (map[string]pluginpackage.SBOM, error) {
	out := map[string]pluginpackage.SBOM{}
	var given *pluginpackage.SBOM
	if p.SBOM != "" {
		text, err := readFile(p.path(p.SBOM), pluginpackage.MaxSBOM)
		if err != nil {
			return nil, err
		}
		kind, err := kindOf(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.path(p.SBOM), err)
		}
		given = &pluginpackage.SBOM{MediaType: kind, Content: text}
	}
	for _, platform := range p.Platforms() {
		if given != nil {
			out[platform] = *given
			continue
		}
		path := p.path(p.Binaries[platform])
		hash, err := pluginpackage.HashFile(ctx, path)
		if err != nil {
			return nil, err
		}
		text, err := encodeSBOM(bomOf(m, filepath.Base(path), hash, goModules(path)))
		if err != nil {
			return nil, err
		}
		out[platform] = pluginpackage.SBOM{MediaType: pluginpackage.MediaTypeCycloneDX, Content: text}
	}
	return out, nil
}

// kindOf returns the media type of an SBOM.
func kindOf(text []byte) (string, error) {
	var head struct {
		BOMFormat   string `json:"bomFormat"`
		SPDXVersion string `json:"spdxVersion"`
	}
	_ = json.Unmarshal(text, &head)
	switch {
	case head.BOMFormat == cdx.BOMFormat:
		return pluginpackage.MediaTypeCycloneDX, nil
	case strings.HasPrefix(head.SPDXVersion, "SPDX-"):
		return pluginpackage.MediaTypeSPDX, nil
	}
	return "", errors.New("not an SBOM: expected CycloneDX or SPDX as JSON")
}

// goModules is what a program that Go built was built from; nil: it is another one.
func goModules(path string) *debug.BuildInfo {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil
	}
	return info
}

// bomOf returns the SBOM of a file. It has neither a time nor a random number, so that it is the
// same each time.
func bomOf(m pluginpackage.Manifest, file, sha256 string, modules *debug.BuildInfo) *cdx.BOM {
	root := cdx.Component{
		BOMRef: "plugin", Type: cdx.ComponentTypeApplication, Name: m.Name, Version: m.Version, Description: m.Description,
		Hashes:   &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sha256}},
		Licenses: &cdx.Licenses{{Expression: m.License}},
		Properties: &[]cdx.Property{
			{Name: "toolhost:file", Value: file},
		},
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &root}
	if modules == nil {
		return bom
	}
	root.PackageURL = purl(modules.Main.Path, modules.Main.Version)
	components := []cdx.Component{{
		BOMRef: purl("std", strings.TrimPrefix(modules.GoVersion, "go")), Type: cdx.ComponentTypeLibrary, Name: "std",
		Version: modules.GoVersion, PackageURL: purl("std", strings.TrimPrefix(modules.GoVersion, "go")),
	}}
	for _, d := range modules.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		c := cdx.Component{
			BOMRef: purl(d.Path, d.Version), Type: cdx.ComponentTypeLibrary, Name: d.Path, Version: d.Version, PackageURL: purl(d.Path, d.Version),
		}
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(d.Sum, "h1:")); err == nil && len(sum) > 0 {
			c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
		}
		components = append(components, c)
	}
	slices.SortFunc(components, func(a, b cdx.Component) int { return strings.Compare(a.BOMRef, b.BOMRef) })
	refs := make([]string, len(components))
	for i, c := range components {
		refs[i] = c.BOMRef
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: root.BOMRef, Dependencies: &refs}}
	return bom
}

// purl is the package URL of a Go module.
func purl(module, version string) string {
	out := "pkg:golang/" + module
	if version != "" && version != "(devel)" {
		out += "@" + strings.ReplaceAll(version, "+", "%2B")
	}
	return out
}

func encodeSBOM(bom *cdx.BOM) ([]byte, error) {
	var b bytes.Buffer
	if err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
