package fleet

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// shape is what makes definitions of a name versions of it.
type shape [sha256.Size]byte

// shapeOf returns the SHA-256 of a definition without what has no effect on a call: texts and icons, and how often
// its own host repeats it. It is not for trust, which goes by the digest of the whole definition.
func shapeOf(d tool.Definition) shape {
	d.Alias, d.Title, d.Description, d.Icons, d.MaxRetries = "", "", "", nil, 0
	d.InputSchema, d.OutputSchema = withoutTexts(d.InputSchema), withoutTexts(d.OutputSchema)
	text, _ := json.Marshal(d) // a definition that was checked can be
	return sha256.Sum256(text)
}

// withoutTexts returns a schema without titles, descriptions and comments. Examples stay, as a reference may lead there.
func withoutTexts(text tool.Schema) tool.Schema {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return text
	}
	strip(v)
	out, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return out
}

// strip removes the texts of a schema, and of those in it, but nothing of data, nor of a property that is called title.
func strip(v any) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			strip(one)
		}
	case map[string]any:
		for k, one := range v {
			switch k {
			case "title", "description", "$comment":
				if _, ok := one.(string); ok {
					delete(v, k)
				}
			case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
				all, _ := one.(map[string]any)
				for _, s := range all {
					strip(s)
				}
			case "const", "enum", "default", "examples", "dependencies", "required":
			default:
				strip(one)
			}
		}
	}
}

// kind tells versions of a name apart.
type kind struct {
	shape shape
	exact string
}

// kindOf returns which version an offer is of. A rule that wants one exactly gets that.
func (r Rule) kindOf(o *offer) kind {
	switch {
	case strings.HasPrefix(r.Version, digestPrefix):
		return kind{exact: o.Digest}
	case r.pins():
		return kind{o.def.shape, o.Version}
	}
	return kind{shape: o.def.shape}
}

const digestPrefix = "sha256:"

func (r Rule) pins() bool { return r.Version != "" && r.Version != newestVersion }

// add adds an offer. The definition is that of the newest version of the plugin that hosts tell.
func (v *version) add(o *offer) {
	v.offers = append(v.offers, o)
	newer := semver.Compare(canonical(o.Version), canonical(v.newest))
	if v.def == nil || newer > 0 || newer == 0 && o.Digest < v.digest {
		v.digest, v.def, v.newest = o.Digest, o.def, o.Version
	}
}

// count counts the hosts that the rule's calls can go to now, and says why the rule does not use the version. The
// directory's lock is held.
func (v *version) count(r Rule) {
	labeled := false
	for _, o := range v.offers {
		if fits := has(o.member.said.Labels, r.Labels); fits {
			labeled = true
			if o.member.takes() {
				v.takes++
			}
		}
	}
	switch digits, exact := strings.CutPrefix(r.Version, digestPrefix); {
	case !labeled:
		v.reason = "no host that shares it has the labels of the rule"
	case exact && !strings.HasPrefix(v.digest, digits):
		v.reason = "the rule wants the definition " + r.Version
	case !exact && r.pins() && v.newest != r.Version:
		v.reason = "the rule wants version " + r.Version
	}
}

// rank orders versions: those that calls can go to now come first, those that the rule excludes last.
func rank(v *version) int {
	switch {
	case v.reason != "":
		return 2
	case v.takes == 0:
		return 1
	}
	return 0
}

// prefer orders versions of one rank: the newest that enough hosts have comes first. Without one, it is the one that
// most have, and of these the oldest: a version waits for its hosts.
func (r Rule) prefer(a, b *version) int {
	aHas, bHas := a.takes >= r.Hosts, b.takes >= r.Hosts
	older := semver.Compare(canonical(a.newest), canonical(b.newest))
	switch {
	case aHas && bHas:
		return -older
	case aHas != bHas:
		return cmp.Compare(b.takes, a.takes)
	}
	return cmp.Or(cmp.Compare(b.takes, a.takes), older)
}

// passedOver says why another version is used than one that the rule does not exclude.
func (r Rule) passedOver(v, used *version) string {
	if v.takes < r.Hosts {
		return fmt.Sprintf("the rule wants %d hosts that have it, and %d take calls", r.Hosts, v.takes)
	}
	return fmt.Sprintf("the definition %.12s of version %s is used", used.digest, cmp.Or(used.newest, "unknown"))
}

// canonical returns a version as package semver wants it; what is none is smaller than any.
func canonical(version string) string { return "v" + strings.TrimPrefix(version, "v") }

// has reports whether a host has all labels.
func has(labels, wanted map[string]string) bool {
	for k, v := range wanted {
		if now, there := labels[k]; !there || now != v {
			return false
		}
	}
	return true
}
