package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// Platform is what build constraints are decided by. The zero Platform is that of the
// plugin's process.
type Platform struct {
	GOOS, GOARCH string   // empty: the process's
	Tags         []string // sorted
}

var (
	system = lazy.Regexp(`^[a-z0-9]+(/[a-z0-9]+)?$`)
	tag    = lazy.Regexp(`^[\pL_0-9.]+$`)
)

// ParsePlatform reads an operating system, or GOOS/GOARCH, and build tags. All of them
// may be empty.
//
// # Errors
//
// A plain error for text that the go command could read as something else.
func ParsePlatform(goos string, tags []string) (Platform, error) {
	var p Platform
	if goos != "" {
		if !system().MatchString(goos) {
			return p, fmt.Errorf("goos %.80q is not an operating system such as windows, or one with its architecture "+
				"such as darwin/arm64; go tool dist list has them all", goos)
		}
		p.GOOS, p.GOARCH, _ = strings.Cut(goos, "/")
	}
	for _, t := range tags {
		if !tag().MatchString(t) {
			return p, fmt.Errorf("%.80q is not a build tag; give each tag as one string, such as integration", t)
		}
	}
	p.Tags = slices.Compact(slices.Sorted(slices.Values(tags)))
	return p, nil
}

// key identifies the platform. It is empty for the process's own.
func (p Platform) key() string {
	return strings.TrimRight(p.GOOS+"/"+p.GOARCH+" "+strings.Join(p.Tags, ","), "/ ")
}

// environment returns what the go command's environment has besides the process's.
func (p Platform) environment() []string {
	var out []string
	if p.GOOS != "" {
		// There is no C compiler for other systems; without this the go command would
		// look for one.
		out = append(out, "GOOS="+p.GOOS, "CGO_ENABLED=0")
	}
	if p.GOARCH != "" {
		out = append(out, "GOARCH="+p.GOARCH)
	}
	return out
}

// flags returns flags of the go command. It is not to ask version control, whose directory may be
// out of the plugin's reach.
func (p Platform) flags() []string {
	out := []string{"-buildvcs=false"}
	if len(p.Tags) > 0 {
		out = append(out, "-tags="+strings.Join(p.Tags, ","))
	}
	return out
}
