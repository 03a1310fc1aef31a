package sealed

import (
	"bytes"
	"io"
	"os"
)

// holes writes an empty file, and leaves out its pages of zeros. The file has its size once
// it is truncated to it.
type holes struct{ to *os.File }

const page = 4 << 10

var zeros [page]byte

func (h holes) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		n, hole := 0, isHole(rest)
		for n < len(rest) && isHole(rest[n:]) == hole {
			n = min(n+page, len(rest))
		}
		var err error
		if hole {
			_, err = h.to.Seek(int64(n), io.SeekCurrent)
		} else {
			_, err = h.to.Write(rest[:n])
		}
		if err != nil {
			return len(b) - len(rest), err
		}
		rest = rest[n:]
	}
	return len(b), nil
}

// isHole reports whether the next page has nothing but zeros.
func isHole(b []byte) bool {
	n := min(len(b), page)
	return bytes.Equal(b[:n], zeros[:n])
}
