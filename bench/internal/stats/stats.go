// Package stats has the two numbers that the benchmark makes of many.
package stats

import (
	"cmp"
	"math"
	"slices"
)

// Quantile is the smallest value that at least the share q of all is not above
// (nearest rank). The values are sorted; zero without values.
func Quantile[T cmp.Ordered](sorted []T, q float64) T {
	var none T
	if len(sorted) == 0 {
		return none
	}
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Median is the value in the middle, or the mean of the two that are. The values
// need not be sorted, and stay as they are; NaN without values.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
