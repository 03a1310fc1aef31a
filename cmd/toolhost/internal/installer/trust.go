package installer

import "github.com/toolhost/toolhost/cmd/toolhost/internal/config"

// trustOf returns what the configuration says of publishers.
func trustOf(c *config.Config) trust {
	return trust{required: c.Trust.Required, publishers: c.Trust.Publishers}
}
