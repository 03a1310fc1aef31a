//go:build !unix

package plugin

import (
	"io/fs"
	"strings"
)

// executable goes by the ending, as the system does.
func executable(info fs.FileInfo) bool {
	return strings.HasSuffix(strings.ToLower(info.Name()), fileSuffix)
}
