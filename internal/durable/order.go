package durable

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/ident"
	"github.com/toolhost/toolhost/internal/lazy"
)

// Nudges is the subject on which hosts are told that there is something in the queue.
const Nudges = nudges + "*"

const (
	subjects  = "toolhost.v1.q." // of the queue: the token of the tool, and the ID of the call
	nudges    = "toolhost.v1.n." // a token: there is something in the queue; nothing is believed
	interrupt = "toolhost.v1.k." // an ID: its record has changed; nothing is believed

	maxName  = 256     // bytes of a name or key
	maxOrder = 4 << 10 // bytes of an order that is sealed
	overhead = 8 << 10 // bytes of a message besides the arguments
)

var validID = lazy.Regexp(`^[A-Z2-7]{26}$`)

// order is what the host that submits a call says of it, and signs. It never changes, and everything
// that is stored of the call is bound to it.
type order struct {
	ID        string    `json:"id"`
	Key       string    `json:"key"` // of the host
	Host      string    `json:"host"`
	Caller    string    `json:"caller,omitempty"`
	Tool      string    `json:"tool"`
	Digest    string    `json:"digest"`
	At        string    `json:"at,omitempty"` // the only host that may run it, one of this key
	Arguments string    `json:"arguments"`    // their SHA-256
	Mode      Mode      `json:"mode"`
	Named     string    `json:"named,omitempty"` // the idempotency key
	TTL       int64     `json:"ttl_ms"`
	Submitted time.Time `json:"submitted"`
	Trace     string    `json:"traceparent,omitempty"`
	Tracing   string    `json:"tracestate,omitempty"`
}

func (o *order) ttl() time.Duration { return time.Duration(o.TTL) * time.Millisecond }

// name is the idempotency key that the tool sees.
func (o *order) name() string {
	if o.Named != "" {
		return o.Named
	}
	return o.ID
}

func (o *order) spellsTool() bool { return ident.Spells(o.Tool, 128, "_.-") }

func (o *order) check() error {
	switch {
	case !validID().MatchString(o.ID):
		return errors.New("its ID is not one")
	case max(len(o.Host), len(o.At)) > maxName || len(o.Caller) > maxName || len(o.Named) > maxName:
		return fmt.Errorf("a name is longer than %d bytes", maxName)
	case !o.spellsTool() || !ident.Spells(o.Digest, 80, ":"):
		return errors.New("it names no tool")
	case o.Mode != AtLeastOnce && o.Mode != AtMostOnce:
		return fmt.Errorf("its mode is %.20q", o.Mode)
	case o.TTL <= 0 || o.TTL > int64(365*24*time.Hour/time.Millisecond):
		return errors.New("its time is out of range")
	}
	return nil
}

// openOrder reads an order, and checks that its host has signed it.
func openOrder(sealed []byte) (*order, error) {
	if len(sealed) > maxOrder {
		return nil, fmt.Errorf("its order is longer than %d bytes", maxOrder)
	}
	body, err := bodyOf(sealed)
	if err != nil {
		return nil, err
	}
	o := new(order)
	if err := json.Unmarshal(body, o); err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	return o, check(o.Key, forOrder, sealed)
}

func (o *order) subject() string { return subjects + o.token() + "." + o.ID }

func (o *order) token() string { return token(o.Tool, o.Digest, o.At) }

// token stands in subjects for a definition of a tool, of the host at or any.
func token(tool, digest, at string) string {
	sum := sha256.Sum256([]byte(tool + "\x00" + digest + "\x00" + at))
	return hex.EncodeToString(sum[:])[:32]
}

// owner stands for a host's key in keys of the bucket.
func owner(public string) string { return sumOf([]byte(public))[:32] }

// keyOf is the key of a call's record.
func keyOf(public, id string) string { return owner(public) + "." + id }

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// idOf is the ID of a call with an idempotency key.
func idOf(public, caller, tool, named string) string {
	sum := sha256.Sum256(pack([]byte("toolhost.v1.durable.id"), []byte(public), []byte(caller), []byte(tool), []byte(named)))
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])[:26]
}

// envelope is what is in the queue. Its ticket binds the order to the revision of the call's record
// as the host stored it: the first claim replaces that revision, so that what was in the queue once
// can run no second time, whoever puts it there.
type envelope struct {
	*order
	sealed    []byte
	revision  uint64
	arguments []byte
}

func ticket(sealed []byte, revision uint64) []byte {
	sum := sha256.Sum256(sealed)
	return binary.BigEndian.AppendUint64(sum[:], revision)
}

func (e *envelope) pack(k Key) ([]byte, error) {
	t, err := seal(k, forTicket, ticket(e.sealed, e.revision))
	if err != nil {
		return nil, err
	}
	return pack(e.sealed, t, e.arguments), nil
}

// openEnvelope reads what came on a subject of the queue.
func openEnvelope(subject string, data []byte) (*envelope, error) {
	parts, err := unpack(data, 3)
	if err != nil {
		return nil, err
	}
	e := &envelope{sealed: parts[0], arguments: parts[2]}
	if e.order, err = openOrder(e.sealed); err != nil {
		return nil, err
	}
	body, err := bodyOf(parts[1])
	if err != nil || len(body) < 8 {
		return nil, errSignature
	}
	e.revision = binary.BigEndian.Uint64(body[len(body)-8:])
	switch {
	case string(body) != string(ticket(e.sealed, e.revision)):
		return nil, errors.New("its ticket is that of another call")
	case e.subject() != subject:
		return nil, fmt.Errorf("it came on the subject %.80q of another call", strings.TrimPrefix(subject, subjects))
	case sumOf(e.arguments) != e.Arguments:
		return nil, errors.New("its arguments are others")
	}
	return e, check(e.Key, forTicket, parts[1])
}
