package lockfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Digest is the SHA-256 of definitions, in hexadecimal digits. Neither the order of
// the tools counts nor that of the keys in their schemas, nor white space, as a plugin
// may write them otherwise at each start.
func Digest(defs []tool.Definition) (string, error) {
	sorted := slices.SortedFunc(slices.Values(defs), func(a, b tool.Definition) int { return strings.Compare(a.Name, b.Name) })
	sum := sha256.New()
	for _, def := range sorted {
		text, err := canonical(def)
		if err != nil {
			return "", fmt.Errorf("the definition of tool %.128q cannot be written: %w", def.Name, err)
		}
		_, _ = fmt.Fprintf(sum, "%d\n", len(text)) // so that no two lists read the same
		_, _ = sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// canonical is a definition as JSON with sorted keys. Numbers stay as they are
// written.
func canonical(def tool.Definition) ([]byte, error) {
	text, err := json.Marshal(def)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
