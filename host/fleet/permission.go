package fleet

import (
	"slices"

	"github.com/toolhost/toolhost/internal/durable"
)

// Needs returns the subjects that the user of a host has to have on a NATS server: with durable calls, or
// without.
func Needs(queue bool) (publish, subscribe []string) {
	both := []string{"toolhost.v1.>", "_INBOX.>"}
	if queue {
		publish = durable.Permissions()
	}
	return slices.Concat(both, publish), slices.Concat(both, []string{"$SRV.>"})
}
