package link

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/flynn/noise"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// Whatever a stranger sends as an opening is refused or has its parts, within their bounds.
func FuzzParseOpening(f *testing.F) {
	self := require.Must(NewInstance())(f)
	for _, about := range []int{0, 1, 40} {
		opening, _, err := newOpening(self, self.Public(), bytes.Repeat([]byte{1}, linkSize), make([]byte, about), maxPacket)
		require.NoError(f, err)
		f.Add(opening)
		f.Add(opening[:openingHeader+messageSize-1])
		f.Add(append(opening, 0))
	}
	f.Add([]byte{})
	f.Add([]byte{version + 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := ParseOpening(data)
		if err != nil {
			return
		}
		if len(o.Link) != 26 || len(o.message) != messageSize || len(o.About) > maxAbout || o.MaxPacket < minPacket {
			t.Errorf("%+v", o)
		}
		again := binary.BigEndian.AppendUint32(bytes.Clone(data[:1+linkSize]), uint32(o.MaxPacket))
		if again = append(append(again, o.About...), o.message...); !bytes.Equal(again, data) || !bytes.HasPrefix(data, o.prologue) {
			t.Errorf("%x became %x", data, again)
		}
	})
}

func FuzzParseRefusal(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte(`{"code":"permission_denied","message":"no","hint":"ask"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if e := parseRefusal(data); len(e.Error()) > 2*maxMessage+10 || !slices.Contains(refusals, e.Code) {
			t.Errorf("%q became %v", data, e)
		}
	})
}

// Only what was sealed is opened, once and in order.
func FuzzOpen(f *testing.F) {
	c := noise.UnsafeNewCipherState(suite, [32]byte{}, 0)
	sealed := func(flags uint8, credit int, data ...byte) []byte {
		p, _, err := seal(c, nil, flags, credit, [][]byte{data}, len(data))
		require.NoError(f, err)
		f.Add(p)
		return p
	}
	var genuine [3][]byte
	for i := range genuine {
		genuine[i] = sealed(0, i, byte(i))
		f.Add(genuine[i][:len(genuine[i])-1])
	}
	c.SetNonce(0)
	unusual := sealed(1<<7, 0)
	f.Add([]byte{})
	f.Add(make([]byte, maxPacket+1))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := noise.UnsafeNewCipherState(suite, [32]byte{}, 0)
		open := func(data []byte) (packet, error) { return open(c, bytes.Clone(data), maxPacket) }
		_, err := open(data)
		switch {
		case bytes.Equal(data, genuine[0]):
			assert.NoError(t, err)
		case bytes.Equal(data, genuine[1]), bytes.Equal(data, genuine[2]):
			if err != errLost { //nolint:errorlint // it is never wrapped
				t.Error(err)
			}
		case bytes.Equal(data, unusual):
			if err != errBroken { //nolint:errorlint // it is never wrapped
				t.Error(err)
			}
		case err != errForged: //nolint:errorlint // it is never wrapped
			t.Errorf("%x was opened: %v", data, err)
		default:
			p, err := open(genuine[0])
			if err != nil || !bytes.Equal(p.data, []byte{0}) {
				t.Errorf("the first packet was not opened after a forgery: %v", err)
			}
			if _, err := open(genuine[0]); err != errForged { //nolint:errorlint // it is never wrapped
				t.Errorf("a packet was opened twice: %v", err)
			}
		}
	})
}
