package fleet

import "github.com/toolhost/toolhost/internal/durable"

// Job is a durable call: it survives the restart of the hosts that ask for it and run it, and of the NATS
// server. [Fleet.ListCalls] and [Fleet.GetCall] show them.
type Job = durable.Call

// JobState is where a job is. [JobDone] and what follows it are ends, after which nothing changes.
type JobState = durable.State

// The states of jobs.
const (
	JobQueued   = durable.StateQueued   // no host has begun
	JobRunning  = durable.StateRunning  // a host runs it
	JobDone     = durable.StateDone     // it has a result, with IsError too
	JobFailed   = durable.StateFailed   // it has an error
	JobCanceled = durable.StateCanceled // the caller has canceled it
	JobExpired  = durable.StateExpired  // no host began in time
)
