package share

import "testing"

// Each has a pace of its own, and what is remembered of them is bounded.
func TestPaces(t *testing.T) {
	t.Parallel()
	var p Paces[int]
	for one := range 3 * maxPaces {
		if !p.Allow(one, 2, 0, 2) || p.Allow(one, 1, 0, 2) {
			t.Fatalf("%d does not have the two that it may have", one)
		}
		if len(p.of) > maxPaces {
			t.Fatalf("%d are remembered", len(p.of))
		}
	}
}
