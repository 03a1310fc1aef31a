package durable

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Level is how full a bucket is.
type Level struct {
	// Bytes are taken of Max; 0: there is no bound.
	Bytes uint64 `json:"bytes"`
	Max   uint64 `json:"max"`
}

// Fill is the part that is taken, 0 to 1.
func (l Level) Fill() float64 {
	return float64(l.Bytes) / float64(max(l.Max, 1)) * float64(min(l.Max, 1))
}

const (
	setKey       = "toolhost.set" // of a stream's metadata: which of its values an operator has set
	pieceBytes   = 300            // of a message besides what is in it
	lookPause    = 30 * time.Second
	mostRecords  = 0.9 // the part of the records' bucket that new calls may take: the rest is for what runs
	freshRecords = time.Second
)

// streams returns what is kept, as this host makes it.
func (s *store) streams(c *Config) []jetstream.StreamConfig {
	s.mu.Lock()
	said, as := s.said, s.said.filled(s.nc)
	s.mu.Unlock()
	kept := func(name, about, subject string, retention jetstream.RetentionPolicy, bytes int64) jetstream.StreamConfig {
		return jetstream.StreamConfig{
			Name: name, Description: "toolhost: " + about, Subjects: []string{subject}, Retention: retention,
			Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew, MaxMsgs: -1, MaxMsgsPerSubject: -1, MaxBytes: bytes,
			MaxAge: as.Keep, Replicas: as.Replicas, Duplicates: min(2*time.Minute, as.Keep), Metadata: map[string]string{setKey: said.set()},
		}
	}
	queue := kept(QueueName, "calls that wait or run", subjects+"*.*", jetstream.WorkQueuePolicy, as.Bytes)
	queue.MaxMsgs = int64(c.Queue)
	out := []jetstream.StreamConfig{queue}
	for _, b := range []jetstream.StreamConfig{
		kept(StateName, "records of calls", "", jetstream.LimitsPolicy, as.Bytes/2),
		kept(ResultsName, "results of calls", "", jetstream.LimitsPolicy, as.Bytes),
	} { // as jetstream.CreateKeyValue makes them, but read from the server that leads
		b.Name, b.Subjects = "KV_"+b.Name, []string{"$KV." + b.Name + ".>"}
		b.MaxMsgsPerSubject, b.AllowRollup, b.DenyDelete = 1, true, true
		out = append(out, b)
	}
	return out
}

// set names the values that are set.
func (s Storage) set() string {
	var out []string
	for name, is := range map[string]bool{"bytes": s.Bytes != 0, "keep": s.Keep != 0, "replicas": s.Replicas != 0} {
		if is {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

// find returns a stream, and makes it if it is not there.
func find(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig, existing bool) (jetstream.Stream, error) {
	stream, err := js.Stream(ctx, want.Name)
	if existing || !errors.Is(err, jetstream.ErrStreamNotFound) {
		return stream, err
	}
	stream, err = js.CreateStream(ctx, want)
	if !strings.Contains(want.Metadata[setKey], "replicas") && want.Replicas > 1 && isAPI(err, 10005, 10023, 10074) { // there are not so many servers
		want.Replicas = 1
		stream, err = js.CreateStream(ctx, want)
	}
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another host was quicker
		return js.Stream(ctx, want.Name)
	}
	return stream, err
}

func isAPI(err error, codes ...jetstream.ErrorCode) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && slices.Contains(codes, api.ErrorCode)
}

// isFull reports whether there is no room for something: in its stream, in the account, or at the server.
func isFull(err error) bool {
	return isAPI(err, 10077, 10002, 10023, 10028, 10047) || errors.Is(err, errFull)
}

var errFull = errors.New("there is no room")

// Set changes how calls are kept, as a host with this Config would when it starts.
func (c *Calls) Set(as Storage) {
	s := c.store
	s.mu.Lock()
	changed := s.said != as
	s.said = as
	s.mu.Unlock()
	if changed {
		select {
		case s.asked <- struct{}{}:
		default:
		}
	}
}

// follow looks how full everything is, and gives it once what the operator has set.
func (s *store) follow(ctx context.Context, c *Config) {
	for apply := true; ; {
		io, cancel := context.WithTimeout(ctx, ioTime)
		differ := s.adjust(io, c, apply)
		cancel()
		s.mu.Lock()
		said := slices.Equal(s.differ, differ)
		s.differ = differ
		s.mu.Unlock()
		if len(differ) > 0 && !said && ctx.Err() == nil {
			c.Log.Warn("durable calls are not kept as this host's configuration says", "reason", strings.Join(differ, "; "))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookPause):
			apply = false
		case <-s.asked:
			apply = true
		}
	}
}

// adjust gives the streams the values that are set here, and returns those that they do not have. Replicas that no operator has
// set become as many as the cluster has servers for.
func (s *store) adjust(ctx context.Context, c *Config, apply bool) (differ []string) {
	for _, want := range s.streams(c) {
		stream, err := s.js.Stream(ctx, want.Name)
		if err != nil {
			continue // it is told by what needs it
		}
		info := stream.CachedInfo()
		s.note(info)
		next, set := info.Config, strings.Split(info.Config.Metadata[setKey], ",")
		here := strings.Split(want.Metadata[setKey], ",")
		var all []string
		for _, v := range []struct {
			name       string
			there, due int64
			put        func()
		}{
			{"replicas", int64(next.Replicas), int64(want.Replicas), func() { next.Replicas = want.Replicas }},
			{"bytes", next.MaxBytes, want.MaxBytes, func() { next.MaxBytes = want.MaxBytes }},
			{"keep", int64(next.MaxAge), int64(want.MaxAge), func() {
				next.MaxAge, next.Duplicates = want.MaxAge, min(next.Duplicates, want.MaxAge)
			}},
		} {
			own := slices.Contains(here, v.name)
			if v.there == v.due || !own && (v.name != "replicas" || v.there > v.due || slices.Contains(set, v.name)) {
				continue
			}
			v.put()
			if own {
				set = append(set, v.name)
				there, due := any(v.there), any(v.due)
				if v.name == "keep" {
					there, due = time.Duration(v.there), time.Duration(v.due)
				}
				all = append(all, fmt.Sprintf("%s of %s is %v, and nats.queue here says %v", v.name, want.Name, there, due))
			}
		}
		if next.Replicas == info.Config.Replicas && len(all) == 0 {
			continue
		}
		why := "another host has set it since this one started"
		if apply && !c.Existing {
			slices.Sort(set)
			next.Metadata = map[string]string{setKey: strings.Trim(strings.Join(slices.Compact(set), ","), ",")}
			if _, err = s.js.UpdateStream(ctx, next); err == nil {
				continue
			}
			why = fmt.Sprintf("the server has not changed it: %v (the NATS user needs $JS.API.STREAM.UPDATE.%s)", err, want.Name)
		}
		for _, text := range all {
			differ = append(differ, text+": "+why)
		}
	}
	return differ
}

// note keeps how full a bucket is.
func (s *store) note(info *jetstream.StreamInfo) Level {
	l := Level{Bytes: info.State.Bytes, Max: uint64(max(info.Config.MaxBytes, 0))}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.levels[info.Config.Name] = l
	return l
}

func (s *store) look(ctx context.Context, bucket string) (Level, error) {
	stream, err := s.js.Stream(ctx, "KV_"+bucket)
	if err != nil {
		return Level{}, err
	}
	return s.note(stream.CachedInfo()), nil
}

// level returns how full a bucket was when it was last looked at.
func (s *store) level(bucket string) Level {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.levels["KV_"+bucket]
}

func (s *store) differs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.differ
}

// admit refuses a new call when its record would take room from those that run, whose signs of life and ends need it.
func (s *store) admit(ctx context.Context) error {
	s.mu.Lock()
	l := s.levels["KV_"+StateName]
	old := time.Since(s.looked) > freshRecords || l.Fill() > mostRecords/2
	if old {
		s.looked = time.Now()
	}
	s.mu.Unlock()
	if old {
		if seen, err := s.look(ctx, StateName); err == nil { // else what comes says it
			l = seen
		}
	}
	if l.Fill() < mostRecords {
		return nil
	}
	return tool.Errorf(tool.CodeResourceExhausted,
		"the records of durable calls have %d of %d bytes, and the rest is kept for calls that run", l.Bytes, l.Max).
		NeverSent().Try("try again later").Fix("raise nats.queue.bytes, or lower nats.queue.keep; toolhost doctor says more")
}

// makeRoom sees to it that there is room for a result of so many bytes, in so many pieces.
func (s *store) makeRoom(ctx context.Context, size, pieces int, fetched time.Duration) error {
	l, err := s.look(ctx, ResultsName)
	need := uint64(size + pieces*pieceBytes) //nolint:gosec // they are not negative
	if err != nil || l.Max == 0 || l.Bytes+need <= l.Max {
		return err
	}
	if err := s.free(ctx, l.Bytes+need-l.Max, fetched); err != nil {
		return err
	}
	if l, err = s.look(ctx, ResultsName); err == nil && l.Bytes+need > l.Max {
		err = fmt.Errorf("%w: bucket %s has %d of %d bytes", errFull, ResultsName, l.Bytes, l.Max)
	}
	return err
}

// mark is what is kept of a result that its caller has fetched: by when it was stored, the oldest make room first. Who
// can write it can delete results anyway, so it is not signed. Without a claim, the result has been removed.
type mark struct {
	Claim  string `json:"claim,omitempty"`
	Chunks int    `json:"chunks,omitempty"`
}

const markSuffix = ".fetched"

func (s *store) fetched(ctx context.Context, r *record) {
	text, _ := json.Marshal(mark{r.s.Claim, r.s.Chunks})
	_, _ = s.results.Create(ctx, keyOf(r.Key, r.ID)+markSuffix, text) // there is one, or the result is kept for longer
}

// removed reports whether a result was fetched, and has made room.
func (s *store) removed(ctx context.Context, r *record) bool {
	e, err := s.results.Get(ctx, keyOf(r.Key, r.ID)+markSuffix)
	var m mark
	return err == nil && json.Unmarshal(e.Value(), &m) == nil && m.Claim == ""
}

// free removes results that were fetched long enough ago, the oldest first, until so many bytes are free.
func (s *store) free(ctx context.Context, bytes uint64, fetched time.Duration) error {
	now, err := s.now(ctx)
	if err != nil {
		return err
	}
	w, err := s.results.Watch(ctx, "*.*"+markSuffix, jetstream.IgnoreDeletes())
	if err != nil {
		return err
	}
	defer w.Stop() //nolint:errcheck // there is nothing to be done
	for {
		var e jetstream.KeyValueEntry
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case e = <-w.Updates():
		}
		if e == nil || now.Sub(e.Created()) < fetched {
			return nil
		}
		var m mark
		if json.Unmarshal(e.Value(), &m) != nil || !validID().MatchString(m.Claim) || m.Chunks < 1 || m.Chunks > maxChunks {
			continue
		}
		before, err := s.look(ctx, ResultsName)
		if err == nil {
			err = s.remove(ctx, strings.TrimSuffix(e.Key(), markSuffix), m)
		}
		if err == nil {
			_, err = s.results.PutString(ctx, e.Key(), "{}")
		}
		after, last := s.look(ctx, ResultsName)
		if err = cmp.Or(err, last); err != nil {
			return err
		}
		freed := before.Bytes - min(before.Bytes, after.Bytes)
		if freed >= bytes {
			return nil
		}
		bytes -= freed
	}
}

// remove removes the pieces of a result.
func (s *store) remove(ctx context.Context, key string, m mark) error {
	for n := range m.Chunks {
		if err := s.results.Purge(ctx, chunkKey(key, m.Claim, n)); err != nil {
			return err
		}
	}
	return nil
}
