package address_test

import (
	"testing"

	"github.com/toolhost/toolhost/internal/address"
)

func TestIsLoopback(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "localhost.": false, "localhost.example": false, "10.0.0.1": false, "0.0.0.0": false, "[::1]": false, "127.0.0.1:80": false,
		"127.1": false, "0x7f000001": false, "127.0.0.1.example": false,
	} {
		if address.IsLoopback(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}
