package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// forge makes a line with a hash that fits, as an attacker could who knows the format.
func forge(line []byte, from, to string) []byte {
	line = bytes.Replace(bytes.TrimSuffix(line, []byte("\n")), []byte(from), []byte(to), 1)
	l, _ := parseLink(line)
	body := line[bytes.Index(line, []byte(`"time":`)) : len(line)-hashLength]
	return l.appendLine(nil, body)
}

func TestVerify(t *testing.T) {
	t.Parallel()
	_, path := newLog(t, 7, Options{})
	original := readLines(t, path)
	garbage := []byte("garbage\n")
	for _, c := range []struct {
		name   string
		tamper func(l [][]byte) [][]byte
		want   string
		upTo   uint64
		says   string
	}{
		{"nothing", func(l [][]byte) [][]byte { return l }, "7 lines:", 7, ""},
		{"edited", func(l [][]byte) [][]byte {
			l[3] = bytes.Replace(l[3], []byte("allowed"), []byte("aproved"), 1)
			return l
		},
			"3 lines: edited 4, then 4", 3, "the text of line 4 is not what its hash was made of"},
		{"edited number", func(l [][]byte) [][]byte { l[3] = bytes.Replace(l[3], []byte(":4,"), []byte(":9,"), 1); return l },
			"3 lines: edited 4, then 4", 3, ""},
		{"edited hash", func(l [][]byte) [][]byte { l[3] = slices.Concat(l[3][:len(l[3])-5], []byte("00\"}\n")); return l },
			"3 lines: edited 4, then 4", 3, ""},
		{"edited first", func(l [][]byte) [][]byte {
			l[0] = bytes.Replace(l[0], []byte("allowed"), []byte("aproved"), 1)
			return l
		},
			"0 lines: edited 1, then 7", 0, ""},
		{"edited last", func(l [][]byte) [][]byte {
			l[6] = bytes.Replace(l[6], []byte("allowed"), []byte("aproved"), 1)
			return l
		},
			"6 lines: edited 7, then 1", 6, ""},
		{"edited with its hash", func(l [][]byte) [][]byte { l[3] = forge(l[3], "allowed", "denied"); return l },
			"3 lines: edited 4, then 4", 3, "another line 4 was here when line 5 was written"},
		{"edited two", func(l [][]byte) [][]byte {
			l[1] = bytes.Replace(l[1], []byte("fs.read"), []byte("fs.reed"), 1)
			l[4] = bytes.Replace(l[4], []byte("fs.read"), []byte("fs.reed"), 1)
			return l
		}, "1 lines: edited 2, then 6", 1, ""},
		{"to garbage", func(l [][]byte) [][]byte { l[3] = garbage; return l }, "3 lines: edited 4, then 4", 3, "this is not a record"},
		{"first to garbage", func(l [][]byte) [][]byte { l[0] = garbage; return l }, "0 lines: edited 1, then 7", 0, ""},
		{"last to garbage", func(l [][]byte) [][]byte { l[6] = garbage; return l }, "6 lines: edited 7, then 1", 6, ""},
		{"two to garbage", func(l [][]byte) [][]byte { l[3], l[4] = garbage, garbage; return l }, "3 lines: edited 4, then 4", 3, "this is not a record"},
		{"all garbage", func([][]byte) [][]byte { return [][]byte{garbage, garbage} }, "0 lines: edited 1, then 2", 0, "0 lines in 1 file, 2 lines not verified"},
		{"dropped", func(l [][]byte) [][]byte { return slices.Delete(l, 3, 4) }, "3 lines: missing 4, then 3", 3, "line 4 is missing before this one"},
		{"dropped two", func(l [][]byte) [][]byte { return slices.Delete(l, 3, 5) }, "3 lines: missing 4, then 2", 3, "lines 4 to 5 are missing"},
		{"dropped first", func(l [][]byte) [][]byte { return l[1:] }, "6 lines: missing 1", 7, "line 1 is missing at the beginning of the log"},
		{"dropped here and there", func(l [][]byte) [][]byte { return slices.Delete(slices.Delete(l, 5, 6), 2, 3) }, "2 lines: missing 3, then 3", 2, ""},
		{"dropped and edited", func(l [][]byte) [][]byte { l[3] = garbage; return slices.Delete(l, 4, 5) }, "3 lines: edited 4, then 3", 3, ""},
		{"cut", func(l [][]byte) [][]byte { return l[:5] }, "5 lines:", 5, "cut off at the end"},
		{"inserted garbage", func(l [][]byte) [][]byte { return slices.Insert(l, 3, garbage) }, "3 lines: edited 4, then 5", 3, "after it, 5 lines not verified"},
		{"inserted nothing", func(l [][]byte) [][]byte { return slices.Insert(l, 3, []byte("\n")) }, "3 lines: edited 4, then 5", 3, ""},
		{"inserted copy", func(l [][]byte) [][]byte { return slices.Insert(l, 4, l[3]) }, "4 lines: reordered 5, then 4", 4, "line 4 is there twice"},
		{"inserted old copy", func(l [][]byte) [][]byte { return slices.Insert(l, 5, l[1]) }, "5 lines: reordered 6, then 3", 5, "line 2 stands after line 5"},
		{"inserted forgery", func(l [][]byte) [][]byte { return slices.Insert(l, 3, forge(l[3], "allowed", "denied")) }, "3 lines: reordered 5, then 5", 3, ""},
		{"inserted forgery behind", func(l [][]byte) [][]byte { return slices.Insert(l, 4, forge(l[3], "allowed", "denied")) }, "3 lines: reordered 5, then 5", 3, ""},
		{"swapped", func(l [][]byte) [][]byte { l[3], l[4] = l[4], l[3]; return l }, "3 lines: reordered 4, then 4", 3, "line 4 stands after this one"},
		{"moved back", func(l [][]byte) [][]byte { return slices.Insert(slices.Delete(slices.Clone(l), 1, 2), 5, l[1]) }, "1 lines: reordered 2, then 6", 1, ""},
		{"moved forth", func(l [][]byte) [][]byte { return slices.Insert(slices.Delete(slices.Clone(l), 5, 6), 1, l[5]) }, "1 lines: reordered 2, then 6", 1, "line 2 stands after this one"},
		{"moved and dropped", func(l [][]byte) [][]byte { l[3], l[4] = l[4], l[3]; return slices.Delete(l, 2, 3) }, "2 lines: reordered 3, then 4", 2, "line 4 stands after this one"},
		{"backwards", func(l [][]byte) [][]byte { slices.Reverse(l); return l }, "1 lines: reordered 2, then 6", 7, ""},
		{"forged start", func(l [][]byte) [][]byte { l[0] = forge(l[0], `"prev":""`, `"prev":"`+Digest(nil)+`"`); return l }, "0 lines: edited 1, then 7", 0, ""},
		{"forged start, alone", func(l [][]byte) [][]byte { return [][]byte{forge(l[0], `"prev":""`, `"prev":"`+Digest(nil)+`"`)} }, "0 lines: edited 1, then 1", 0, ""},
		{"torn end", func(l [][]byte) [][]byte { l[6] = l[6][:50]; return l }, "6 lines:", 6, "the last line has no end"},
		{"garbage and torn end", func(l [][]byte) [][]byte { l[5], l[6] = garbage, l[6][:50]; return l }, "5 lines: edited 6, then 2", 5, ""},
		{"forged note of a torn line", func(l [][]byte) [][]byte {
			l[6] = forge(l[6], `,"time"`, `,"torn":"`+Digest(nil)+`","time"`)
			return l
		}, "6 lines: missing 7, then 1", 6, "the torn line that this one tells of is not there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			overwrite(t, path, c.tamper(slices.Clone(original))...)
			r := verify(t, path)
			equal(t, "the report", brief(r), c.want)
			equal(t, "whole up to", r.UpTo.Seq, c.upTo)
			assert.Containsf(t, r.String(), c.says, "it does not say %q:\n%s", c.says, r)
			equal(t, "it", r.Break == nil, c.want == fmt.Sprintf("%d lines:", r.Lines))
		})
	}
}

// Whatever byte of a log is another one, it is noticed, and where.
func TestVerifyEachByte(t *testing.T) {
	t.Parallel()
	_, path := newLog(t, 3, Options{})
	original := read(t, path)
	second := bytes.IndexByte(original, '\n') + 1
	third := second + bytes.IndexByte(original[second:], '\n') + 1
	bits := []byte{1, 0x20, 0x80}
	if testing.Short() {
		bits = bits[1:2] // the case of a letter
	}
	for i := second; i < third; i++ {
		for _, bit := range bits {
			changed := slices.Clone(original)
			changed[i] ^= bit
			overwrite(t, path, changed)
			if r := verify(t, path); r.Break == nil || r.UpTo.Seq != 1 || r.Break.Line != 2 {
				t.Errorf("byte %d, bit %x: %s", i, bit, r)
			}
		}
	}
}

func TestVerifyFiles(t *testing.T) {
	t.Parallel()
	size := threeLines(t)
	for _, c := range []struct {
		name   string
		tamper func(path string) error
		want   string
		says   string
	}{
		{"nothing", func(string) error { return nil }, "12 lines:", "12 lines in 4 files, whole up to line 12, "},
		{"without the first", func(p string) error { return os.Remove(rotatedPath(p, 1)) }, "9 lines: missing 1", "lines 1 to 3 are missing at the beginning"},
		{"without one", func(p string) error { return os.Remove(rotatedPath(p, 2)) }, "3 lines: missing 1, then 6",
			"audit.jsonl.000003:1: missing: lines 4 to 6 are missing before this one, and the file audit.jsonl.000002"},
		{"without the newest rotated", func(p string) error { return os.Remove(rotatedPath(p, 3)) }, "6 lines: missing 1, then 3", "audit.jsonl:1: missing: lines 7 to 9"},
		{"without the last", os.Remove, "9 lines:", "whole up to line 9, "},
		{"exchanged", func(p string) error {
			return errors.Join(os.Rename(rotatedPath(p, 1), p+".x"), os.Rename(rotatedPath(p, 2), rotatedPath(p, 1)), os.Rename(p+".x", rotatedPath(p, 2)))
		}, "3 lines: reordered 1, then 9", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, path := newLog(t, 12, Options{MaxSize: size})
			require.NoError(t, c.tamper(path))
			r := verify(t, path)
			equal(t, "the report", brief(r), c.want)
			assert.Containsf(t, r.String(), c.says, "it does not say %q:\n%s", c.says, r)
		})
	}
}

func TestVerifyNothing(t *testing.T) {
	t.Parallel()
	_, err := Verify(t.Context(), filepath.Join(t.TempDir(), "none", "audit.jsonl"))
	assert.ErrorIsf(t, err, fs.ErrNotExist, "without a log")
	_, path := newLog(t, 0, Options{})
	r := isWhole(t, path, 0)
	equal(t, "the report", r.String(), "0 lines in 1 file, nothing to verify")
}
