package stats_test

import (
	"math"
	"testing"

	"github.com/toolhost/toolhost/bench/internal/stats"
)

func TestQuantile(t *testing.T) {
	t.Parallel()
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = i + 1
	}
	for _, c := range []struct {
		values []int
		q      float64
		want   int
	}{
		{nil, .5, 0},
		{[]int{7}, .5, 7},
		{[]int{7}, .99, 7},
		{[]int{1, 2}, .5, 1},
		{[]int{1, 2, 3}, .5, 2},
		{hundred, .5, 50},
		{hundred, .99, 99},
		{hundred, .991, 100},
		{hundred, 0, 1},
		{hundred, 1, 100},
	} {
		if got := stats.Quantile(c.values, c.q); got != c.want {
			t.Errorf("Quantile(%d values, %v) = %d, want %d", len(c.values), c.q, got, c.want)
		}
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3}, 3},
		{[]float64{4, 1}, 2.5},
		{[]float64{9, 1, 5}, 5},
		{[]float64{9, 1, 5, 3}, 4},
	} {
		first := c.values[0]
		if got := stats.Median(c.values); got != c.want {
			t.Errorf("Median(%v) = %v, want %v", c.values, got, c.want)
		}
		if c.values[0] != first {
			t.Errorf("Median changed its argument: %v", c.values)
		}
	}
	if got := stats.Median(nil); !math.IsNaN(got) {
		t.Errorf("Median of nothing = %v, want NaN", got)
	}
}
