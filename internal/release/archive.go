package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"time"
)

// file is a file of an archive.
type file struct {
	name, from string
	mode       fs.FileMode
}

// past is the time of all files: the earliest that a zip can have.
var past = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// tarred returns a .tar.gz of files in a directory.
func tarred(directory string, files []file) ([]byte, error) {
	var b bytes.Buffer
	packed, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	t := tar.NewWriter(packed)
	for _, f := range files {
		content, err := os.ReadFile(f.from)
		if err != nil {
			return nil, err
		}
		head := &tar.Header{
			Typeflag: tar.TypeReg, Name: directory + "/" + f.name, Size: int64(len(content)), Mode: int64(f.mode), ModTime: past, Format: tar.FormatUSTAR,
		}
		if err := t.WriteHeader(head); err != nil {
			return nil, err
		}
		if _, err := t.Write(content); err != nil {
			return nil, err
		}
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	if err := packed.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
