package auditindex

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"hash/crc32"
	"hash/fnv"
	"io"
	"math"
	"os"
	"slices"
	"sort"
	"time"

	"github.com/toolhost/toolhost/host/audit"
)

const (
	chunk    = 32 << 20 // of a file, for one segment
	zoneSize = 64 << 10
	pageKeys = 512
	keySize  = 10
)

// version begins a segment. Another one is made again.
var version = [8]byte{'t', 'h', 'a', 'u', 'd', 'i', 't', 2}

var order = binary.LittleEndian

// header begins a segment. Zones and fences, keys and sums follow, each part with its checksum.
type header struct {
	Version           [8]byte
	From, To, Seen    int64 // in the file of the log: its lines, and how far there were no others
	LastAt            int64 // where its last line begins
	Last              [sha256.Size]byte
	Before, Lines     uint32 // lines before it in its file, and in it
	Zones, Keys, Sums uint32 // how many; bytes of sums
	MetaCheck         uint32 // of zones and fences
	SumsCheck, Check  uint32 // Check: of the header before it
}

// zone says what may stand in some lines.
type zone struct {
	From, Before            uint32 // offset and lines before it, in the segment
	Bad                     uint32 // lines that are not records
	Oldest, Newest, Slowest int64
	Tools, Callers, Codes   uint64 // a bit for each name, by its hash
}

// fence is the first key of a page, and the page's checksum.
type fence struct {
	First uint64
	Check uint32
}

// key says in which zone a call stands, or one that was made in it.
type key struct {
	id   uint64
	zone uint16
}

// slot is what sums are of.
type slot struct {
	Quarter            int64 // of an hour, since 1970
	Tool, Caller, Code string
}

const quarter = 15 * time.Minute

func quarterOf(t time.Time) int64 {
	const seconds = int64(quarter / time.Second)
	at := t.Unix()
	return (at - (at%seconds+seconds)%seconds) / seconds
}

// start is when a quarter begins.
func start(q int64) time.Time { return time.Unix(q*int64(quarter/time.Second), 0) }

// keyOf keeps the first four bytes of an ID in order, so that a beginning of an ID can be looked for.
func keyOf(id string) uint64 {
	var first [4]byte
	copy(first[:], id)
	h := fnv.New32a()
	_, _ = io.WriteString(h, id)
	return uint64(binary.BigEndian.Uint32(first[:]))<<32 | uint64(h.Sum32())
}

func bitOf(name string) uint64 { return 1 << (keyOf(name) & 63) }

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// segment is what is known of a part of a file.
type segment struct {
	header

	name   string // of its file
	part   int    // of the log
	zones  []zone
	fences []fence
	keys   []key         // while it is made
	sums   map[slot]*Sum // as well
	file   *os.File      // once it is written
}

// fill reads the lines from where the segment begins to the end of its chunk, or of the file's whole lines.
func (s *segment) fill(ctx context.Context, r *audit.Reader, size, end int64, progress func(int64)) error {
	rest := audit.Range{Part: s.part, From: s.From, To: size, Lines: int(s.Before)}
	for l, err := range r.Lines(ctx, audit.Filter{}, rest) {
		var invalid *audit.Break
		if err != nil && !errors.As(err, &invalid) {
			return err
		}
		if !l.Ended || l.Offset >= end {
			break
		}
		at := uint32(l.Offset - s.From)
		if n := len(s.zones); n == 0 || at-s.zones[n-1].From >= zoneSize {
			s.zones = append(s.zones, zone{From: at, Before: s.Lines, Oldest: math.MaxInt64, Newest: math.MinInt64})
			progress(l.Offset)
		}
		s.Lines++
		s.LastAt, s.To = l.Offset, l.End
		z := &s.zones[len(s.zones)-1]
		if invalid != nil {
			z.Bad++
			continue
		}
		s.add(z, &l.Entry)
	}
	return nil
}

func (s *segment) add(z *zone, e *audit.Entry) {
	at := e.Time.UnixMicro()
	z.Oldest, z.Newest = min(z.Oldest, at), max(z.Newest, at)
	z.Slowest = max(z.Slowest, int64(e.Duration))
	z.Tools |= bitOf(e.Tool)
	z.Callers |= bitOf(e.Caller)
	for _, id := range []string{e.Call, e.Parent} {
		if id != "" {
			s.keys = append(s.keys, key{keyOf(id), uint16(len(s.zones) - 1)})
		}
	}
	if e.Event != audit.End {
		return
	}
	z.Codes |= bitOf(string(e.Code))
	k := slot{quarterOf(e.Time), e.Tool, e.Caller, string(e.Code)}
	sum := s.sums[k]
	if sum == nil {
		sum = new(Sum)
		s.sums[k] = sum
	}
	sum.count(e)
}

// encode returns the segment as it is written.
func (s *segment) encode(log io.ReaderAt) ([]byte, error) {
	last, err := lineSum(log, s.LastAt, s.To)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(s.keys, func(a, b key) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.zone, b.zone)) })
	s.keys = slices.Compact(s.keys)
	var keys []byte
	s.fences = nil
	for page := range slices.Chunk(s.keys, pageKeys) {
		start := len(keys)
		for _, k := range page {
			keys = order.AppendUint16(order.AppendUint64(keys, k.id), k.zone)
		}
		s.fences = append(s.fences, fence{page[0].id, checksum(keys[start:])})
	}
	meta, _ := binary.Append(nil, order, s.zones)
	meta, _ = binary.Append(meta, order, s.fences)
	var sums bytes.Buffer
	var all []slotSum
	for k, sum := range s.sums {
		all = append(all, slotSum{k, *sum})
	}
	if err := gob.NewEncoder(&sums).Encode(all); err != nil {
		return nil, err
	}
	h := &s.header
	h.Version, h.Last = version, last
	h.Zones, h.Keys, h.Sums = uint32(len(s.zones)), uint32(len(s.keys)), uint32(sums.Len())
	h.MetaCheck, h.SumsCheck = checksum(meta), checksum(sums.Bytes())
	head, _ := binary.Append(nil, order, h)
	order.PutUint32(head[len(head)-4:], checksum(head[:len(head)-4]))
	return slices.Concat(head, meta, keys, sums.Bytes()), nil
}

// whole is all that the segment covers.
func (s *segment) whole() audit.Range {
	return audit.Range{Part: s.part, From: s.From, To: s.To, Lines: int(s.Before)}
}

// errDamaged says that a segment is not as it was written, or of another version.
var errDamaged = errors.New("it is damaged, or of another version")

// errOther says that a segment is not of what stands in the log.
var errOther = errors.New("it is of another log")

// decode reads what its file says of a part of the log.
func (s *segment) decode(size int64, log io.ReaderAt) error {
	h := &s.header
	head := make([]byte, binary.Size(h))
	if _, err := s.file.ReadAt(head, 0); err != nil {
		return errDamaged
	}
	_, _ = binary.Decode(head, order, h)
	pages := (int(h.Keys) + pageKeys - 1) / pageKeys
	zones, fences := int(h.Zones)*binary.Size(zone{}), pages*binary.Size(fence{})
	if h.Version != version || h.Check != checksum(head[:len(head)-4]) ||
		size != int64(len(head)+zones+fences+int(h.Keys)*keySize+int(h.Sums)) {
		return errDamaged
	}
	last, err := lineSum(log, h.LastAt, h.To)
	if err != nil {
		return err
	}
	if last != h.Last { // or the log is not as long any more
		return errOther
	}
	meta := make([]byte, zones+fences)
	if _, err := s.file.ReadAt(meta, int64(len(head))); err != nil || checksum(meta) != h.MetaCheck {
		return errDamaged
	}
	s.zones, s.fences = make([]zone, h.Zones), make([]fence, pages)
	_, _ = binary.Decode(meta, order, s.zones)
	_, _ = binary.Decode(meta[zones:], order, s.fences)
	return nil
}

// lineSum returns the digest of a line of the log.
func lineSum(log io.ReaderAt, from, to int64) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	_, err = io.Copy(h, io.NewSectionReader(log, from, to-from))
	h.Sum(sum[:0])
	return sum, err
}

// keysAt is where the keys of a segment begin in its file.
func (s *segment) keysAt() int64 {
	return int64(binary.Size(s.header) + len(s.zones)*binary.Size(zone{}) + len(s.fences)*binary.Size(fence{}))
}

// page reads keys.
func (s *segment) page(i int) ([]key, error) {
	n := min(pageKeys, int(s.Keys)-i*pageKeys)
	text := make([]byte, n*keySize)
	if _, err := s.file.ReadAt(text, s.keysAt()+int64(i*pageKeys*keySize)); err != nil || checksum(text) != s.fences[i].Check {
		return nil, errDamaged
	}
	keys := make([]key, n)
	for i := range keys {
		keys[i] = key{order.Uint64(text[i*keySize:]), order.Uint16(text[i*keySize+8:])}
	}
	return keys, nil
}

// find returns the zones with keys from low to high.
func (s *segment) find(low, high uint64) (zones []int, err error) {
	first := sort.Search(len(s.fences), func(i int) bool { return s.fences[i].First >= low })
	for i := max(0, first-1); i < len(s.fences) && s.fences[i].First <= high; i++ {
		keys, err := s.page(i)
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			if low <= k.id && k.id <= high && int(k.zone) < len(s.zones) {
				zones = append(zones, int(k.zone))
			}
		}
	}
	slices.Sort(zones)
	return slices.Compact(zones), nil
}

// slotSum is the sum of a slot.
type slotSum struct {
	Slot slot
	Sum  Sum
}

// readSums reads the sums of a segment.
func (s *segment) readSums() (all []slotSum, err error) {
	text := make([]byte, s.Sums)
	if _, err := s.file.ReadAt(text, s.keysAt()+int64(s.Keys)*keySize); err != nil || checksum(text) != s.SumsCheck {
		return nil, errDamaged
	}
	return all, gob.NewDecoder(bytes.NewReader(text)).Decode(&all)
}

// place returns where zones stand in the log, from one to before another one.
func (s *segment) place(from, to int) audit.Range {
	end := s.To
	if to < len(s.zones) {
		end = s.From + int64(s.zones[to].From)
	}
	z := s.zones[from]
	return audit.Range{Part: s.part, From: s.From + int64(z.From), To: end, Lines: int(s.Before + z.Before)}
}
