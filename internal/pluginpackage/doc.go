// Package pluginpackage reads, checks and writes packages of plugins: what an author ships and
// an operator installs. Begin with [OpenTar] and [Read], or with [Build].
//
// A package is an OCI image manifest and its blobs, so that a registry, a web server and a
// memory stick carry the same thing under the same digest:
//
//	OCI manifest  artifactType application/vnd.toolhost.plugin.v1
//	  config      application/vnd.toolhost.plugin.manifest.v1+json: the plugin's manifest
//	  layers      application/vnd.toolhost.plugin.binary.v1: a file for each platform, as it runs
//	              SBOMs, the text of the licence
//	              application/vnd.toolhost.plugin.minisig.v1: minisign's signature of the config
//
// Nothing is compressed: the digest of a binary's layer is the SHA-256 that toolhost.lock pins,
// and no blob is larger than it says. The plugin's manifest has the digest and size of each
// layer but the signature, so the signature covers all of them.
//
// Everything that is read comes from strangers. Sizes are bounded before anything is read, each
// blob is checked against its digest while it is read, and what the format does not know is refused.
package pluginpackage

// The media types of a package and its blobs.
const (
	ArtifactType       = "application/vnd.toolhost.plugin.v1"
	MediaTypeManifest  = "application/vnd.toolhost.plugin.manifest.v1+json"
	MediaTypeBinary    = "application/vnd.toolhost.plugin.binary.v1"
	MediaTypeSignature = "application/vnd.toolhost.plugin.minisig.v1"
	MediaTypeCycloneDX = "application/vnd.cyclonedx+json"
	MediaTypeSPDX      = "application/spdx+json"
	MediaTypeLicense   = "text/plain"
)

// Limits of a package, in bytes, and in blobs.
const (
	MaxSize          = 2 << 30  // all blobs together
	MaxManifest      = 4 << 20  // the OCI manifest, and the plugin's
	MaxSignature     = 4 << 10  // the signature
	MaxLicense       = 1 << 20  // the text of the licence
	MaxSBOM          = 64 << 20 // one SBOM
	MaxPlatforms     = 64
	maxLayers        = 2*MaxPlatforms + 2
	maxTools         = 10_000
	maxDescription   = 4 << 10
	maxSourceLength  = 2 << 10
	maxVersionLength = 128
	maxCreator       = 256
)
