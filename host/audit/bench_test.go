package audit

import (
	"path/filepath"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// Whole lines to a real file, which the system puts on disk when it likes.
func BenchmarkWrite(b *testing.B) {
	f := require.Must(Open(filepath.Join(b.TempDir(), "audit.jsonl"), Options{}))(b)
	defer func() { _ = f.Close() }()
	r := record(1)
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, f.Write(r))
	}
}

// Lines that are on disk when Write returns.
func BenchmarkWriteBegin(b *testing.B) {
	f := require.Must(Open(filepath.Join(b.TempDir(), "audit.jsonl"), Options{}))(b)
	defer func() { _ = f.Close() }()
	r := record(1)
	r.Event = Begin
	for b.Loop() {
		require.NoError(b, f.Write(r))
	}
}

// What a line costs without its file.
func BenchmarkEncode(b *testing.B) {
	r := record(1)
	var body, line []byte
	l := link{seq: 1}
	b.ReportAllocs()
	for b.Loop() {
		body = appendRecord(body[:0], &r)
		line = l.appendLine(line[:0], body)
	}
}

func BenchmarkRead(b *testing.B) {
	path := filepath.Join(b.TempDir(), "audit.jsonl")
	f := require.Must(Open(path, Options{}))(b)
	const lines = 10_000
	for i := range lines {
		require.NoError(b, f.Write(record(i)))
	}
	size := f.size
	require.NoError(b, f.Close())
	b.Run("verify", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			if r, err := Verify(b.Context(), path); err != nil || r.Break != nil {
				b.Fatal(err, &r)
			}
		}
	})
	b.Run("search", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			for _, err := range Search(b.Context(), path, Filter{Text: "nothing like it"}) {
				b.Fatal(err)
			}
		}
	})
	b.Run("tail", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			for _, err := range Search(b.Context(), path, Filter{Limit: 20}) {
				require.NoError(b, err)
			}
		}
	})
}
