package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// pulse is what is known of a run's health. It is looked for only when a call was
// not answered in time, so that nothing waits or ticks for a plugin that is well.
type pulse struct {
	pause  time.Duration          // between two looks
	looked atomic.Int64           // when; Unix nanoseconds
	looks  atomic.Bool            // just now
	missed atomic.Int32           // questions in a row with no answer
	why    atomic.Pointer[string] // what is wrong; nil: nothing that is known
}

// What questions with no answer lead to. The second follows the first at once.
const (
	healthPause   = 10 * time.Second
	missedIsSick  = 2
	missedIsStuck = 3
)

// suspect has a look at the plugin's health, unless there was one lately.
func (in *instance) suspect() {
	now, last := time.Now().UnixNano(), in.pulse.looked.Load()
	if time.Duration(now-last) < in.pulse.pause || in.calls.draining.Load() || in.pulse.looks.Swap(true) {
		return
	}
	in.pulse.looked.Store(now)
	go func() { // it ends with the connection, and within two internalTimeouts
		defer in.pulse.looks.Store(false)
		in.examine()
	}()
}

// examine asks the plugin's health service how it is.
func (in *instance) examine() {
	for {
		serving, answered := in.askHealth()
		switch {
		case in.dead() || in.calls.draining.Load():
			return
		case answered && serving:
			in.alive()
			return
		case answered:
			in.pulse.missed.Store(0)
			in.degrade("its health service says that it is not serving")
			return
		}
		switch missed := in.pulse.missed.Add(1); {
		case missed >= missedIsStuck:
			in.proc.refuse(errors.New("it answered no call and no health check"))
			in.proc.log.Error("the plugin is ended: it answered no call and no health check")
			in.proc.kill()
			return
		case missed >= missedIsSick:
			in.degrade(fmt.Sprintf("it answered no call in time, and no health check %d times in a row", missed))
			return
		}
	}
}

// askHealth asks once, for at most [internalTimeout]. A plugin without the service
// is well.
func (in *instance) askHealth() (serving, answered bool) {
	reply, err := healthv1.NewHealthClient(in.conn).Check(context.Background(), &healthv1.HealthCheckRequest{Service: plugin.GRPCServiceName})
	switch status.Code(err) {
	case codes.OK:
		return reply.GetStatus() != healthv1.HealthCheckResponse_NOT_SERVING, true
	case codes.DeadlineExceeded, codes.Unavailable, codes.Canceled:
		return false, false
	}
	return true, true
}

func (in *instance) degrade(why string) {
	if in.pulse.why.Swap(&why) == nil {
		in.proc.log.Warn("the plugin is degraded: " + why)
	}
}

// alive notes that the plugin answered. It costs nothing where nobody doubted it.
func (in *instance) alive() {
	if in.pulse.why.Load() != nil {
		in.pulse.missed.Store(0)
		in.pulse.why.Store(nil)
	}
}
