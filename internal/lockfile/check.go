package lockfile

import (
	"strings"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Mismatch is the cause if a plugin is not as pinned.
type Mismatch struct {
	Plugin      string
	Differences []Difference
}

// Error lists every difference.
func (m *Mismatch) Error() string {
	parts := make([]string, len(m.Differences))
	for i, d := range m.Differences {
		parts[i] = strings.TrimPrefix(d.String(), m.Plugin+": ")
	}
	return strings.Join(parts, "; ")
}

// Check reports whether a plugin is as pinned.
//
// # Errors
//
// [*tool.Error] with the code unavailable, as for all plugins that are refused, whose
// cause is a [*Mismatch]. It shows what is pinned, what was found, and the command
// that accepts it.
func (l *Lock) Check(name string, found Entry) error {
	differences := l.compare(name, found)
	if len(differences) == 0 {
		return nil
	}
	m := &Mismatch{name, differences}
	return &tool.Error{
		Code: tool.CodeUnavailable, Plugin: name, Stage: tool.StageStart, Unsent: true, Err: m,
		Message: "plugin " + name + " does not run, as it is not what toolhost.lock pins: " + m.Error(),
		Hint:    "if this is what you want to run: " + relock,
	}
}

// CheckBinary is [Lock.Check] before the plugin is started, when only its bytes are known.
//
// # Errors
//
// Those of [Lock.Check].
func (l *Lock) CheckBinary(name, sha256 string) error {
	found := l.Plugins[name]
	found.SHA256 = sha256
	return l.Check(name, found)
}

// CheckListed is [Lock.Check] before the binary is read, when only the plugin's name is
// known: it must be pinned.
//
// # Errors
//
// Those of [Lock.Check].
func (l *Lock) CheckListed(name string) error {
	return l.Check(name, l.Plugins[name])
}
