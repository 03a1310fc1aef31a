package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReferenceIsUpToDate(t *testing.T) {
	t.Parallel()
	const root = "../../../.."
	for name, document := range documents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := document(root)
			if err != nil {
				t.Fatal(err)
			}
			have, err := os.ReadFile(filepath.Join(root, directory, name))
			if err != nil || string(have) != want {
				t.Errorf("%s/%s is not what the code gives; run make generate (%v)", directory, name, err)
			}
		})
	}
}
