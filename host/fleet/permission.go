package fleet

import (
	"slices"

	"github.com/toolhost/toolhost/internal/durable"
)

// Permissions are the subjects that a user of a NATS server may use.
type Permissions struct {
	Publish   []string
	Subscribe []string
}

// Needs returns what the user of a host has to have: with durable calls, or without.
func Needs(queue bool) Permissions {
	both := []string{"toolhost.v1.>", "_INBOX.>"}
	p := Permissions{Publish: both, Subscribe: slices.Concat(both, []string{"$SRV.>"})}
	if queue {
		p.Publish = slices.Concat(both, durable.Permissions())
	}
	return p
}
