package fleet

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/toolhost/toolhost/host"
)

// tell answers with a fresh announcement.
func (f *Fleet) tell(respond func([]byte, ...micro.RespondOpt) error) {
	if data, err := f.announcement(f.leaving.Load()); err == nil {
		_ = respond(data)
	}
}

// announcement returns a new one, signed.
func (f *Fleet) announcement(leaving bool) ([]byte, error) {
	c := f.settings.Load()
	a := announcement{
		Protocol: spoken, Name: c.Name, Key: c.Key.Public(), Instance: f.self.Public(), Seq: f.seq.Add(1),
		Version: cmp.Or(c.Version, host.Version), Labels: c.Labels, Draining: f.draining.Load(), Leaving: leaving,
		Revision: f.revision(), Load: f.load(), Every: f.every().Milliseconds(), Time: f.now(),
	}
	return a.sign(c.Key)
}

func (f *Fleet) load() load {
	l := load{Slots: f.settings.Load().maxCalls()}
	for _, p := range f.host.Plugins() {
		l.Running, l.Waiting = l.Running+p.Calls, l.Waiting+p.Waiting
	}
	l.Running = max(l.Running, int(f.serving.Load()))
	return l
}

// announce tells others of this host, at intervals and when something has changed. Whoever makes a
// connection has said hello.
func (f *Fleet) announce() {
	for ; ; f.sayHello() {
		every := f.every()
		timer := time.NewTimer(every + rand.N(every/spread)) //nolint:gosec // not a secret
		select {
		case <-timer.C:
		case <-f.announces:
			timer.Stop()
			if !f.pause(10 * time.Millisecond) { // several changes are told at once
				return
			}
		case <-f.life.Done():
			timer.Stop()
			return
		}
	}
}

// sayHello publishes an announcement, unless there is no connection.
func (f *Fleet) sayHello() {
	if data, err := f.announcement(false); err == nil && f.nc.IsConnected() {
		_ = f.nc.Publish(helloSubject, data)
	}
}

func (f *Fleet) announceSoon() {
	select {
	case f.announces <- struct{}{}:
	default:
	}
}

// pause waits, and returns false if the fleet is closed meanwhile.
func (f *Fleet) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-f.life.Done():
		return false
	}
}

// How long Join waits for the hosts that are there.
const (
	meetQuiet = 50 * time.Millisecond // after the last one that has answered
	meetMost  = time.Second
	meetSync  = 5 * time.Second // until what they share is read
)

// meet asks who is there, and waits until what they share is mounted.
func (f *Fleet) meet(ctx context.Context) {
	if !f.nc.IsConnected() {
		return
	}
	answers := make(chan *nats.Msg, maxMembers)
	inbox := f.nc.NewInbox()
	sub, err := f.nc.ChanSubscribe(inbox, answers)
	if err != nil {
		return
	}
	late := time.NewTimer(meetSync)
	defer f.background(func() { // those that answer later are heard all the same
		defer sub.Unsubscribe() //nolint:errcheck // no other has the inbox
		for {
			select {
			case msg := <-answers:
				f.hear(msg.Data)
			case <-late.C:
				return
			case <-f.life.Done():
				return
			}
		}
	})
	if f.nc.PublishRequest(whoSubject, inbox, nil) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, meetMost)
	defer cancel()
	quiet := time.NewTimer(4 * meetQuiet)
	defer quiet.Stop()
	var met []*member
collect:
	for {
		select {
		case msg := <-answers:
			if m := f.hear(msg.Data); m != nil {
				met = append(met, m)
			}
			quiet.Reset(meetQuiet)
		case <-quiet.C:
			break collect
		case <-ctx.Done():
			break collect
		}
	}
	synced := time.NewTimer(meetSync)
	defer synced.Stop()
	for _, m := range append(met, f.directory.all()...) {
		select {
		case <-m.synced:
		case <-synced.C:
			return
		case <-f.life.Done():
			return
		}
	}
}
