package setup

import (
	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
)

// Load reads a file and checks that all it says can be done.
//
// # Errors
//
// Those of [config.Load], and [*config.Error] for what this version cannot do.
func Load(path string) (*config.Config, error) {
	c, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	return c, Check(c)
}

// Check finds settings that would have no effect, as this version cannot do what they
// say: what is silently passed over would be believed.
//
// # Errors
//
// [*config.Error] with all of them.
func Check(c *config.Config) error {
	var out []config.Problem
	for name := range c.Callers {
		if name != CLI {
			out = append(out, c.Problem("this version has no such caller", "those who use commands are "+CLI, "callers", name))
		}
	}
	return c.Problems(out)
}
