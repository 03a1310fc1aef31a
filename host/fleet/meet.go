package fleet

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

// How long Join waits for the hosts that are there.
const (
	meetFirst = 200 * time.Millisecond // for the first one, after this host's own answer has come
	meetQuiet = 50 * time.Millisecond  // after the last one that has answered
	meetMost  = time.Second
	meetSync  = 5 * time.Second // until what they share is read
)

// meet asks who is there, and waits until what they share is mounted.
func (d *directory) meet(ctx context.Context) {
	if !d.nc.IsConnected() {
		return
	}
	answers := make(chan *nats.Msg, maxMembers)
	inbox := d.nc.NewInbox()
	sub, err := d.nc.ChanSubscribe(inbox, answers)
	if err != nil {
		return
	}
	late := time.After(meetSync)
	defer d.background(func() { // those that answer later are heard all the same
		defer sub.Unsubscribe() //nolint:errcheck // no other has the inbox
		for {
			select {
			case msg := <-answers:
				d.hear(msg.Data)
			case <-late:
				return
			case <-d.life.Done():
				return
			}
		}
	})
	about, err := d.announcement()
	if err != nil || d.nc.PublishRequest(whoSubject, inbox, about) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, meetMost)
	defer cancel()
	met := collect(ctx, answers, d.hear)
	synced := time.After(meetSync)
	for _, m := range append(met, d.present()...) {
		select {
		case <-m.synced:
		case <-synced:
			return
		case <-d.life.Done():
			return
		}
	}
}

// collect returns the members that answer. This host asks itself, too: it hears of no member then.
func collect(ctx context.Context, answers <-chan *nats.Msg, hear func([]byte) *member) (met []*member) {
	for wait := meetFirst; ; {
		select {
		case msg := <-answers:
			if m := hear(msg.Data); m != nil {
				met, wait = append(met, m), meetQuiet
			}
		case <-time.After(wait):
			return met
		case <-ctx.Done():
			return met
		}
	}
}
