package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
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

// zipped returns a .zip of files in a directory.
func zipped(directory string, files []file) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		content, err := os.ReadFile(f.from)
		if err != nil {
			return nil, err
		}
		head := &zip.FileHeader{Name: directory + "/" + f.name, Method: zip.Deflate, Modified: past}
		head.SetMode(f.mode)
		w, err := z.CreateHeader(head)
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(w, bytes.NewReader(content)); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return b.Bytes(), err
}
