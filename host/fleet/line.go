package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/host/fleet/internal/link"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// line carries this host's calls to another one.
type line struct {
	link   *link.Link
	stream *wire.Stream
	calls  atomic.Int32 // in progress on it, also the fleet's own
	// reconnects is how often the connection had been made again when the line was made.
	reconnects uint64
	used       time.Time // when it was made, or taken for one of the fleet's own operations; guarded by the directory's lock
	probed     time.Time // when the other side was asked for a sign; guarded by the directory's lock
}

// execute runs a call of a tool, or one of the fleet's own operations.
func (l *line) execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	l.calls.Add(1)
	defer l.calls.Add(-1)
	return l.stream.Execute(ctx, call)
}

// listen asks the other side for a sign if it is silent while it has calls, or after something else was
// said to it, such as that a call is canceled. A link notices a lost message by the next one, which may
// never come. It is called at intervals, with what the server does not allow.
func (l *line) listen(denied error) {
	heard := l.link.Heard()
	switch {
	case time.Since(heard) < interval, l.calls.Load() == 0 && !l.link.Unheard():
	case !l.probed.After(heard):
		l.probed = time.Now()
		go l.link.Probe() //nolint:errcheck // its error ends the link
	case time.Since(l.probed) <= goneAfter+interval:
	case denied != nil:
		l.link.Fail(fmt.Errorf("nothing is heard on it, perhaps as the NATS server refuses a subject: %w", denied))
	default:
		l.link.Fail(errors.New("nothing is heard on it"))
	}
}

func (l *line) fail(err error) {
	l.link.Fail(err)
	_ = l.stream.Close()
}

// dialTime bounds how long a host may take to accept a link.
const dialTime = 2 * time.Second

// askedFor bounds how long the time of a call stands still while a person is asked on the other host.
const askedFor = time.Hour

// connect returns the line to the host, and makes one if there is none.
//
// # Errors
//
// A *tool.Error, unsent; the context's end.
func (m *member) connect(ctx context.Context) (*line, error) {
	d := m.directory
	for {
		d.mu.Lock()
		if m.line != nil {
			l := m.line
			l.used = time.Now()
			d.mu.Unlock()
			return l, nil
		}
		if m.life.Err() != nil {
			d.mu.Unlock()
			return nil, m.unreachable(errors.New("it is gone"))
		}
		if wait := m.dialing; wait != nil {
			d.mu.Unlock()
			select {
			case <-wait:
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		done := make(chan struct{})
		m.dialing = done
		d.mu.Unlock()

		l, err := m.dial()
		d.mu.Lock()
		m.dialing = nil
		if err == nil && m.life.Err() == nil {
			m.line, m.lost, m.rests, l.used = l, time.Time{}, false, time.Now()
			m.tellEnds()
		} else if err == nil {
			err = errors.New("it is gone")
			l.fail(err)
		}
		if err != nil && m.rests {
			m.wake()
			m.readSoon()
		}
		d.mu.Unlock()
		close(done)
		if err != nil {
			return nil, m.unreachable(err)
		}
		d.bell.ring()
		select {
		case <-l.stream.Failed(): // before it was the host's line
			m.forget(l)
		default:
		}
		return l, nil
	}
}

// tellEnds tells a host that has a line of the sessions that have ended. The directory's lock is held.
func (m *member) tellEnds() {
	if m.line != nil {
		for _, session := range m.directory.endings[m.id] {
			m.line.used = time.Now()
			m.line.stream.EndSession(session)
		}
		delete(m.directory.endings, m.id)
	}
}

// dial makes a line. It is not bounded by one call, as others may wait for it too.
func (m *member) dial() (*line, error) {
	d := m.directory
	ctx, cancel := context.WithTimeout(m.life, dialTime)
	defer cancel()
	about, err := d.announcement()
	if err != nil {
		return nil, err
	}
	reconnects := d.nc.Stats().Reconnects
	k, err := link.Dial(ctx, d.nc, d.self, m.public, instanceSubject+m.id+".open", about)
	if err != nil {
		return nil, err
	}
	l := &line{link: k, reconnects: reconnects}
	l.stream = wire.NewStream(k, wire.StreamHooks{Asks: true, Waits: askedFor, Failed: func(error) {
		k.Close() //nolint:errcheck,gosec // it has ended
		m.forget(l)
	}})
	return l, nil
}

// forget says that a line has ended.
func (m *member) forget(l *line) {
	d := m.directory
	d.mu.Lock()
	defer d.mu.Unlock()
	if m.line == l && !m.left.Load() {
		m.line, m.lost = nil, time.Now()
		if m.life.Err() == nil {
			m.readSoon()
		}
		d.bell.ring()
	}
}

func (m *member) unreachable(err error) *tool.Error {
	why := err.Error()
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		why = "it does not listen"
	case errors.Is(err, context.DeadlineExceeded):
		why = "it does not answer"
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrConnectionReconnecting), errors.Is(err, nats.ErrDisconnected):
		why = "the connection to the NATS server is lost"
	}
	code := tool.CodeUnavailable
	if e := new(tool.Error); errors.As(err, &e) && e.Code == tool.CodePermissionDenied { // it does not know this host
		code = e.Code
	}
	return tool.Errorf(code, "host %s cannot be reached: %s", m.host, why).
		At(callstage.Execute).NeverSent().Because(err).Try("try again later").Fix(remedy.Hosts.String())
}

// ask runs one of the fleet's own operations at the host, in a time of its own: to compile what several have said may
// take long on a slow machine.
func (m *member) ask(ctx context.Context, operation string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, syncTime)
	defer cancel()
	arguments, err := json.Marshal(in)
	if err != nil {
		return err
	}
	l, err := m.connect(ctx)
	if err != nil {
		return err
	}
	res, err := l.execute(ctx, tool.Call{ID: operation, Name: operation, Arguments: arguments})
	if err == nil {
		res, err = answered(res)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(res.Structured, out)
}

// operate is ask for what an operator wants of the host, whose refusal says whose it is.
func (m *member) operate(ctx context.Context, operation string, in, out any) error {
	err := m.ask(ctx, operation, in, out)
	if e := new(tool.Error); errors.As(err, &e) && !e.Unsent {
		return ofHost(e, m.host)
	}
	return err
}
