package link

import (
	"bytes"
	"testing"
)

// Whatever a stranger sends as an opening is refused or has its parts, within their bounds.
func FuzzParseOpening(f *testing.F) {
	id, key := bytes.Repeat([]byte{1}, linkSize), bytes.Repeat([]byte{2}, keySize)
	for _, about := range []int{0, 1, 40} {
		o, err := newOpening(id, key, make([]byte, about), maxPacket)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(o.raw)
		f.Add(o.raw[:openingHeader-1])
		f.Add(append(o.raw, 0))
	}
	f.Add([]byte{})
	f.Add([]byte{version + 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := ParseOpening(data)
		if err != nil {
			return
		}
		if len(o.Link) != 26 || len(o.Ephemeral) != keySize || len(o.About) > maxAbout || o.MaxPacket < minPacket {
			t.Errorf("%+v", o)
		}
		again, err := newOpening(data[1:1+linkSize], o.Ephemeral, o.About, o.MaxPacket)
		if err != nil || !bytes.Equal(again.raw, data) {
			t.Errorf("%x became %x, %v", data, again.raw, err)
		}
	})
}

func FuzzParseAnswer(f *testing.F) {
	f.Add([]byte{})
	f.Add(Refuse(errLost))
	f.Add(append(newAnswer(make([]byte, keySize), maxPacket).raw, make([]byte, overhead)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := parseAnswer(data)
		switch {
		case err != nil && len(err.Error()) > 2*maxMessage+10:
			t.Errorf("an error of %d bytes", len(err.Error()))
		case err == nil && (a.maxPacket < minPacket || len(a.proof) != overhead):
			t.Errorf("%+v", a)
		}
	})
}

// Only what was sealed is opened, once and in order.
func FuzzOpen(f *testing.F) {
	aead, err := newCipher(make([]byte, 32))
	if err != nil {
		f.Fatal(err)
	}
	s := &sealer{aead: aead}
	var genuine [3][]byte
	for i := range genuine {
		p, _ := s.seal(0, i, [][]byte{{byte(i)}}, 1)
		genuine[i] = bytes.Clone(p)
		f.Add(genuine[i])
		f.Add(genuine[i][:len(p)-1])
	}
	s.next = 0
	unusual, _ := s.seal(1<<7, 0, nil, 0)
	f.Add(bytes.Clone(unusual))
	f.Add([]byte{})
	f.Add(make([]byte, maxPacket+1))
	f.Fuzz(func(t *testing.T, data []byte) {
		o := &opener{aead: aead, most: maxPacket}
		_, err := o.open(bytes.Clone(data))
		switch {
		case bytes.Equal(data, genuine[0]):
			if err != nil {
				t.Error(err)
			}
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
			p, err := o.open(bytes.Clone(genuine[0]))
			if err != nil || !bytes.Equal(p.data, []byte{0}) {
				t.Errorf("the first packet was not opened after a forgery: %v", err)
			}
			if _, err := o.open(bytes.Clone(genuine[0])); err != errForged { //nolint:errorlint // it is never wrapped
				t.Errorf("a packet was opened twice: %v", err)
			}
		}
	})
}
