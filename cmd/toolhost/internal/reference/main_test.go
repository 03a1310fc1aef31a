package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReferenceIsUpToDate(t *testing.T) {
	t.Parallel()
	const root = "../../../.."
	files, err := os.ReadDir(filepath.Join(root, directory))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if documents[f.Name()] == nil {
			t.Errorf("%s/%s is not made by this program", directory, f.Name())
		}
	}
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
