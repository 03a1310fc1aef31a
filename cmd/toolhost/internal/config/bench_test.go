package config

import (
	"os"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// What a command pays for a file with all sections.
func BenchmarkLoad(b *testing.B) {
	text := require.Must(os.ReadFile("testdata/all.yaml"))(b)
	for b.Loop() {
		require.Must(Parse("toolhost.yaml", text))(b)
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/op")
}

// All sections are in the file of the benchmark.
func TestFileHasAllSections(t *testing.T) {
	t.Parallel()
	c := require.Must(Load("testdata/all.yaml"))(t)
	for _, m := range root().Members {
		if _, there := c.places[m.Name]; !there {
			t.Errorf("%s is missing", m.Name)
		}
	}
}
