package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

func TestReferenceIsUpToDate(t *testing.T) {
	t.Parallel()
	const root = "../../../.."
	for name, document := range documents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := require.Must(document(root))(t)
			have, err := os.ReadFile(filepath.Join(root, directory, name))
			if err != nil || string(have) != want {
				t.Errorf("%s/%s is not what the code gives; run make generate (%v)", directory, name, err)
			}
		})
	}
}
