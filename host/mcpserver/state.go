package mcpserver

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"time"
)

// A state is what the client of a parked call returns with its answer: the call's ID, a nonce
// that is good once, when it expires, and a code that authenticates these together with what
// they are good for: the caller, the session, the tool and the arguments. The key is this
// process's own, as parked calls are.

const (
	idSize    = 26 // of rand.Text
	nonceSize = 16
	timeSize  = 8
	stateSize = idSize + nonceSize + timeSize + sha256.Size
)

// requestKey is what a state is good for: a request of that kind.
type requestKey struct {
	method, name string
	args         []byte
}

func random(size int) []byte {
	b := make([]byte, size)
	_, _ = rand.Read(b) // never fails
	return b
}

// state returns the state of a parked call, which has a nonce.
func (s *Server) state(r *running, key requestKey, expires time.Time) string {
	b := make([]byte, 0, stateSize)
	b = append(b, r.parking.id...)
	b = append(b, r.parking.nonce...)
	b = binary.BigEndian.AppendUint64(b, uint64(expires.UnixMilli())) //nolint:gosec // not negative
	b = append(b, s.authenticate(b, r.client, key)...)
	return base64.RawURLEncoding.EncodeToString(b)
}

// authenticate returns the code of a state for a client and a request.
func (s *Server) authenticate(state []byte, c *clientSession, key requestKey) []byte {
	mac := hmac.New(sha256.New, s.key)
	digest := sha256.Sum256(canonical(key.args))
	for _, part := range [][]byte{
		state, []byte(c.info.Identity), []byte(c.session.ID()), []byte(key.method), []byte(key.name), digest[:],
	} {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		_, _ = mac.Write(size[:])
		_, _ = mac.Write(part)
	}
	return mac.Sum(nil)
}

// canonical returns arguments in a form that does not depend on how they were written.
func canonical(args []byte) []byte {
	if len(args) == 0 {
		return []byte("{}")
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return args
	}
	b, err := json.Marshal(v)
	if err != nil {
		return args
	}
	return b
}

// unpark returns the parked call of a state, which is good no more. A state that is known but
// was altered, or comes with another request or from another caller, denies the call.
func (c *clientSession) unpark(key requestKey, text string) (*running, error) {
	const again = "; call again without requestState"
	s := c.server
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) != stateSize {
		return nil, invalid("the requestState is malformed" + again)
	}
	said, code := b[:stateSize-sha256.Size], b[stateSize-sha256.Size:]
	s.mu.Lock()
	r := s.parked[string(said[:idSize])]
	s.mu.Unlock()
	good := hmac.Equal(code, s.authenticate(said, c, key))
	expires := time.UnixMilli(int64(binary.BigEndian.Uint64(said[idSize+nonceSize:]))) //nolint:gosec // made by state
	switch {
	case good && time.Now().After(expires):
		return nil, invalid("the requestState has expired, and the call was denied" + again)
	case good && (r == nil || r.client != c):
		return nil, invalid("the requestState was used before, or its call has ended" + again)
	case r == nil:
		return nil, invalid("the requestState is not one of this server" + again)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !good:
		r.parking.nonce = nil
		r.closeQuestions(errForged)
		return nil, invalid("the requestState is not of this request: it was altered, or belongs to other arguments " +
			"or to another caller; the call that it is of was denied" + again)
	case r.at != nil || !hmac.Equal(r.parking.nonce, said[idSize:idSize+nonceSize]):
		return nil, invalid("the requestState was used before" + again)
	}
	r.parking.nonce = nil
	r.parking.expire.Stop()
	return r, nil
}
