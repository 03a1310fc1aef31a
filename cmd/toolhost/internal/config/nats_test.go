package config

import (
	"strings"
	"testing"
)

// A host that calls itself as it likes gets no more than it is given, and no counts of its own.
func TestNATSCaller(t *testing.T) {
	t.Parallel()
	n := NATS{Callers: map[string]Caller{
		"a": {MaxCalls: 1}, "a/x": {MaxCalls: 2}, AnyCaller: {MaxCalls: 3},
	}}
	for _, c := range []struct {
		host, caller, name string
		calls              int
	}{
		{"a", "", "a/*", 1}, {"a", "x", "a/x", 2}, {"a", "y", "a/*", 1}, {"a", "*", "a/*", 1}, {"b", "x", "b/*", 3}, {"b", "", "b/*", 3},
		{"a", "x/x", "a/*", 1}, {"cli", "", "cli/*", 3},
	} {
		if name, got := n.Caller(c.host, c.caller); name != c.name || got.MaxCalls != c.calls {
			t.Errorf("%s/%s is %s with %d", c.host, c.caller, name, got.MaxCalls)
		}
	}
	if name, got := (NATS{}).Caller("a", "x"); name != "a/*" || len(got.Grants) > 0 {
		t.Errorf("without callers, it is %s with %v", name, got)
	}
}

func TestAddressesAreShownWithoutSecrets(t *testing.T) {
	t.Parallel()
	if got := Addresses("tls://alice:pass@a.example:4222,nats://token@b.example").Shown(); strings.Contains(got, "pass") ||
		strings.Contains(got, "token") || strings.Contains(got, "alice") || !strings.Contains(got, "a.example:4222,nats://") {
		t.Errorf("it is shown as %s", got)
	}
}
