//go:build linux && pending

package host_test

// What is not contained yet. Each moves to the file of its kind when it is:
//
//	go test -tags pending -run TestPending ./host

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/internal/hostile"
)

// A plugin can read its host's environment and see its files in /proc, as it is the
// same user's process.
func TestPendingTheft(t *testing.T) {
	h := startHost(t, hostile.Thief)
	if strings.Contains(h.Result, "of "+h.mark) {
		t.Errorf("the plugin read the host's environment: %.300s", h.Result)
	}
}
