package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/fleet/internal/link"
	"github.com/toolhost/toolhost/internal/ident"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// The subjects of a fleet. Those of an instance follow instanceSubject.
const (
	helloSubject    = "toolhost.v1.hello." // and the key of a host: its announcements
	whoSubject      = "toolhost.v1.who"    // asks all hosts of the account for theirs, with that of the asking one
	instanceSubject = "toolhost.v1.h."     // with the ID of an instance, and then .ping or .open
)

// protocol is which versions of the fleet's protocol a host speaks.
type protocol struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

var spoken = protocol{1, 1}

// announcement is what a host says of itself. It is sent with its signature in front.
type announcement struct {
	Protocol protocol          `json:"protocol"`
	Name     string            `json:"name"`
	Key      string            `json:"key"`
	Instance []byte            `json:"instance"` // the public key of this start
	Seq      uint64            `json:"seq"`      // larger than that of the one before
	Version  string            `json:"version"`
	Labels   map[string]string `json:"labels,omitempty"`
	Draining bool              `json:"draining,omitempty"`
	Leaving  bool              `json:"leaving,omitempty"`
	Revision uint64            `json:"revision"` // of what it shares
	Load     load              `json:"load"`
	Every    int64             `json:"every_ms,omitempty"` // until the next one at the latest; 0: a second
	Time     time.Time         `json:"time"`               // to be shown: nothing is decided by it
}

// When a host announces itself. Those that name its key hear it, so that the more there are, the less often they do.
const (
	interval        = time.Second // between two announcements, in a fleet of up to fewHosts
	fewHosts        = 200
	intervalAHost   = 70 * time.Millisecond // for each further one
	longestInterval = 15 * time.Second
	// toStrangersEvery is how often a host tells those that may not name its key of itself, so that they can say so.
	toStrangersEvery = 5 * time.Minute
	// spread is the part of an interval by which it is longer at random. Hosts that have started together
	// would go on announcing themselves together.
	spread = 20
)

// everyOf returns how often each host of a fleet of so many announces itself.
func everyOf(others int) time.Duration {
	return min(interval+time.Duration(max(others-fewHosts, 0))*intervalAHost, longestInterval)
}

// every returns how often the host announces itself, by its own word.
func (a *announcement) every() time.Duration {
	return time.Duration(min(max(a.Every, interval.Milliseconds()), longestInterval.Milliseconds())) * time.Millisecond
}

// silence returns after how long without an announcement the host is asked whether it is there, if they come so often.
func silence(every time.Duration) time.Duration { return every + every/spread + 50*time.Millisecond }

// load is what a host has to do.
type load struct {
	Running int `json:"running"`
	Waiting int `json:"waiting"`
	Slots   int `json:"slots"`
}

const (
	// maxAnnouncement bounds an announcement with its signature, in bytes.
	maxAnnouncement = 32 << 10
	signatureSize   = 64
	instanceSize    = 32
	// announcedAs is signed with each announcement, so that nothing else that a key has signed
	// passes for one.
	announcedAs = "toolhost fleet announcement 1\n"
)

// sign returns the announcement with its signature.
func (a *announcement) sign(k Key) ([]byte, error) {
	text, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	signature, err := k.Sign(append([]byte(announcedAs), text...))
	return append(signature, text...), err
}

var errMalformed = errors.New("it is malformed")

// parseAnnouncement reads an announcement whose signature has not been checked.
func parseAnnouncement(data []byte) (*announcement, error) {
	if len(data) <= signatureSize || len(data) > maxAnnouncement {
		return nil, errMalformed
	}
	a := new(announcement)
	if json.Unmarshal(data[signatureSize:], a) != nil {
		return nil, errMalformed
	}
	switch {
	case len(a.Instance) != instanceSize || !validKey(a.Key):
		return nil, errMalformed
	case a.Protocol.Max < spoken.Min || a.Protocol.Min > spoken.Max:
		return a, nil // of which the rest may mean something else
	case !ident.Valid(a.Name) || len(a.Labels) > maxLabels || min(a.Load.Running, a.Load.Waiting, a.Load.Slots) < 0:
		return nil, errMalformed
	}
	for k, v := range a.Labels {
		if len(k) > maxLabelLength || len(v) > maxLabelLength || sanitize.Line(k+v, 2*maxLabelLength) != k+v {
			return nil, errMalformed
		}
	}
	a.Version = sanitize.Line(a.Version, maxLabelLength)
	return a, nil
}

// signed reports whether data, which is the announcement, is signed by the key in it.
func (a *announcement) signed(data []byte) bool {
	return verified(a.Key, append([]byte(announcedAs), data[signatureSize:]...), data[:signatureSize])
}

// foreign says why the host cannot be understood; empty: it can.
func (a *announcement) foreign() string {
	switch {
	case a.Protocol.Min > spoken.Max:
		return fmt.Sprintf("it speaks version %d of the fleet's protocol, and this host speaks %d: upgrade this host", a.Protocol.Min, spoken.Max)
	case a.Protocol.Max < spoken.Min:
		return fmt.Sprintf("it speaks version %d of the fleet's protocol, and this host speaks %d: upgrade that host", a.Protocol.Max, spoken.Min)
	}
	return ""
}

func (a *announcement) id() string { return link.IDOf(a.Instance) }

// clean returns the announced name fit to be shown, if the protocol is another.
func (a *announcement) cleanName() string {
	return strings.TrimSpace(sanitize.Line(a.Name, maxLabelLength))
}
