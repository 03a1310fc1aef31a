// Package telemetry sends spans of calls to a collector, as OpenTelemetry's traces over OTLP. They are
// made of calls that have ended, so that a call waits for nothing here. Begin with [New].
package telemetry

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/tracecontext"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const (
	// ringSize is how many calls may wait to be sent. A quarter is kept for those that failed or were slow.
	ringSize = 4096
	// batchSize is how many go in one request.
	batchSize = 512
	// pause is between requests, which bounds the calls sent in a second, and so what they cost.
	pause = time.Second
	// patience bounds one request with its repetitions: a collector may ask to be asked again in 292 years.
	patience = 30 * time.Second
	// flushTime bounds the last requests, at the end of the process.
	flushTime = 2 * time.Second
)

// Exporter sends spans of calls. A nil Exporter sends nothing.
type Exporter struct {
	Sent    atomic.Uint64 // calls that the collector has taken
	Failed  atomic.Uint64 // and that it has not
	Dropped atomic.Uint64 // and for which there was no room

	endpoint  string
	exposed   bool
	options   []otlptracehttp.Option
	threshold uint64
	slower    time.Duration
	arguments bool
	log       hclog.Logger
	patience  time.Duration

	ring    chan *ended
	start   sync.Once
	started atomic.Bool
	closing chan struct{}
	done    chan struct{}
	life    context.Context //nolint:containedctx // of the requests, which end with Close
	cancel  context.CancelFunc

	mu      sync.Mutex
	problem error // why nothing can be sent, or the last request failed; nil: it did not

	// Those of the goroutine that sends.
	resource *resourcepb.Resource
	known    map[[2]string]*attribute
}

// New returns what sends spans as the settings and the environment say; nil: they say nothing.
func New(s config.Telemetry, env func(string) (string, bool), log hclog.Logger) *Exporter {
	endpoint := environment(env).endpoint(s)
	if endpoint == "" {
		return nil
	}
	x := &Exporter{
		endpoint: endpoint, slower: s.SlowerThan, arguments: s.Arguments, log: log,
		patience: patience, ring: make(chan *ended, ringSize), closing: make(chan struct{}), done: make(chan struct{}),
		known: map[[2]string]*attribute{},
	}
	x.options, x.exposed, x.problem = environment(env).options(s, x.endpoint)
	if x.problem == nil {
		x.threshold, x.problem = environment(env).threshold(s.Sample)
	}
	if x.problem != nil {
		x.log.Warn("no traces are sent", "error", x.problem)
	} else if x.exposed {
		x.log.Warn("headers go to the collector in clear text: let its endpoint begin with https://", "endpoint", x.Endpoint())
	}
	x.life, x.cancel = context.WithCancel(context.Background())
	return x
}

// Endpoint is where traces are sent, without what may be secret.
func (x *Exporter) Endpoint() string { return config.Address(x.endpoint).Shown() }

// Exposed reports whether headers go to the collector in clear text over a network.
func (x *Exporter) Exposed() bool { return x.exposed }

// Counts says how many calls were sent, have failed, and were dropped; nil: none are to be sent.
func (x *Exporter) Counts() map[string]uint64 {
	if x == nil {
		return nil
	}
	return map[string]uint64{"sent": x.Sent.Load(), "failed": x.Failed.Load(), "dropped": x.Dropped.Load()}
}

// Hooks returns hooks by which calls are sent, too: on the goroutine of each call, as most are dropped under load, which
// takes less time there than to hand them over.
func (x *Exporter) Hooks(h policy.Hooks) policy.Hooks {
	if x == nil || x.problem != nil {
		return h
	}
	h.Sampled, h.Span = x.sampled, x.ended
	return h
}

func (x *Exporter) sampled(trace [16]byte) bool {
	return binary.BigEndian.Uint64(trace[8:])>>1 < x.threshold
}

// ended keeps a call that is to be sent, if there is room.
func (x *Exporter) ended(e policy.Event) {
	matters := e.Err != nil || e.Result.IsError || e.Duration >= x.slower
	switch {
	case e.Trace.Parent == "", !matters && !tracecontext.IsSampled(e.Trace.Parent):
		return
	case !matters && len(x.ring) >= ringSize/4*3:
		x.Dropped.Add(1)
		return
	}
	x.start.Do(func() {
		x.started.Store(true)
		go x.run()
	})
	select {
	case x.ring <- x.keep(e):
	default:
		x.Dropped.Add(1)
	}
}

// run sends what is in the ring, every now and then, until the exporter is closed.
func (x *Exporter) run() {
	defer close(x.done)
	c := otlptracehttp.NewClient(x.options...)
	x.report(c.Start(x.life))
	x.resource = x.describe()
	for open := true; open; {
		var batch []*ended
		select {
		case e := <-x.ring:
			batch = append(batch, e)
			select {
			case <-time.After(pause):
			case <-x.closing:
			}
		case <-x.closing:
			open = false
		}
		for {
			for len(batch) < batchSize && len(x.ring) > 0 {
				batch = append(batch, <-x.ring)
			}
			if len(batch) == 0 {
				break
			}
			x.send(c, batch)
			batch = nil
		}
	}
}

// send sends calls. What the collector does not take is not sent again.
func (x *Exporter) send(c uploader, batch []*ended) {
	ctx, cancel := context.WithTimeout(x.life, x.patience)
	defer cancel()
	err := c.UploadTraces(ctx, x.spans(batch))
	if err != nil {
		x.Failed.Add(uint64(len(batch)))
	} else {
		x.Sent.Add(uint64(len(batch)))
	}
	x.report(err)
}

// report says once that the collector does not take traces, and that it does again.
func (x *Exporter) report(err error) {
	x.mu.Lock()
	before := x.problem
	x.problem = err
	x.mu.Unlock()
	switch {
	case x.life.Err() != nil:
	case err != nil && before == nil:
		x.log.Warn("the collector does not take traces; calls go on", "endpoint", x.Endpoint(), "error", said(err))
	case err == nil && before != nil:
		x.log.Info("the collector takes traces again", "endpoint", x.Endpoint(), "lost", x.Failed.Load())
	}
}

// said is the text of an error, in which a collector may have written what it likes.
func said(err error) string { return sanitize.Line(err.Error(), 300) }

// Fault says that no traces arrive; nil: they do, or none are sent.
func (x *Exporter) Fault() *tool.Error {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.problem == nil {
		return nil
	}
	return tool.Errorf(tool.CodeUnavailable, "traces do not arrive at %s: %s", x.Endpoint(), said(x.problem)).
		Fix(fmt.Sprintf("see telemetry in the configuration and the collector's log; calls go on, and the spans of %d are lost",
			x.Failed.Load()+x.Dropped.Load()))
}

// Check sends nothing to the collector, and returns why it does not take that.
func (x *Exporter) Check(ctx context.Context) error {
	if x.problem != nil {
		return x.problem
	}
	c := otlptracehttp.NewClient(append(x.options, otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}))...)
	if err := c.Start(ctx); err != nil {
		return err
	}
	if err := c.UploadTraces(ctx, nil); err != nil {
		return errors.New(said(err))
	}
	return nil
}

// Close sends what is left, in bounded time. There must be no calls any more.
func (x *Exporter) Close() {
	if x == nil {
		return
	}
	defer x.cancel()
	if !x.started.Load() {
		return
	}
	close(x.closing)
	select {
	case <-x.done:
	case <-time.After(flushTime):
		x.cancel()
		<-x.done
	}
}
