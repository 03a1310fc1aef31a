package manifest

import (
	"encoding/hex"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// index is the digests that are remembered. On disk it is a line for each file.
type index map[identity]digest

const (
	maxIndexBytes = 1 << 20
	// maxIndexed is how many files are remembered. Beyond, the older ones are
	// forgotten: they are hashed once more if they are met again.
	maxIndexed = 4096
)

// indexName is the index's file.
const indexName = "digests"

var indexSeal = seal([]byte(indexName))

// readIndex is empty where there is no file or it cannot be used.
func readIndex(dir *directory) index {
	payload, err := dir.read(indexName, maxIndexBytes, indexSeal)
	if err != nil {
		return index{}
	}
	out := index{}
	for line := range strings.Lines(string(payload)) {
		if id, sum, ok := parseLine(strings.Fields(line)); ok {
			out[id] = sum
		}
	}
	return out
}

func parseLine(fields []string) (id identity, sum digest, ok bool) {
	if len(fields) != 6 || len(fields[5]) != hex.EncodedLen(len(sum)) {
		return id, sum, false
	}
	var err error
	number := func(s string) int64 {
		n, bad := strconv.ParseInt(s, 16, 64)
		if bad != nil {
			err = bad
		}
		return n
	}
	inode := func(s string) uint64 {
		n, bad := strconv.ParseUint(s, 16, 64)
		if bad != nil {
			err = bad
		}
		return n
	}
	id = identity{inode(fields[0]), inode(fields[1]), number(fields[2]), number(fields[3]), number(fields[4])}
	_, bad := hex.Decode(sum[:], []byte(fields[5]))
	return id, sum, err == nil && bad == nil
}

// save adds to the index on disk, beside what other processes added. If two write at
// one time, what one of them added is lost, and those files are hashed once more.
func (x index) save(dir *directory) {
	all := readIndex(dir)
	if len(all)+len(x) > maxIndexed {
		all = index{}
	}
	maps.Copy(all, x)
	var text strings.Builder
	for id, sum := range all {
		fmt.Fprintf(&text, "%x %x %x %x %x %x\n", id.device, id.inode, id.size, id.mtime, id.changed, sum)
	}
	_ = dir.write(indexName, []byte(text.String()), indexSeal) // or they are hashed the next time
}
