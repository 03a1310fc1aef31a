package fleet

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet/embedded"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// joined returns a host in the fleet of a server, which knows all that have the key.
func joined(t *testing.T, url string, key Key, name string, tools ...tool.Tool) (*host.Host, *Fleet) {
	t.Helper()
	h, err := host.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	for _, one := range tools {
		if err := h.Register(one); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Join(t.Context(), h, Config{URL: url, Key: key, Name: name, Share: []string{"*"}, Mount: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close(context.Background()) })
	return h, f
}

// A host of a large fleet announces itself rarely. That it was killed shows at once to those with calls there.
func TestKilledHostOfLargeFleet(t *testing.T) {
	t.Parallel()
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	s, err := embedded.Start(embedded.Config{Keys: []string{key.Public()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	began := make(chan struct{})
	_, b := joined(t, s.URL(), key, "b", tool.Tool{
		Definition: tool.Definition{Name: "wait", Description: "It waits.", Safety: tool.Safe},
		Handler: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			close(began)
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		},
	})
	h, a := joined(t, s.URL(), key, "a")
	b.known.Store(maxMembers)
	b.announceSoon()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	rare := func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, m := range a.members {
			return m.said.every() == longestInterval && m.line != nil
		}
		return false
	}
	if !a.wait(ctx, rare) {
		t.Fatal("b does not say how often it announces itself")
	}
	ended := make(chan error, 1)
	go func() {
		_, err := h.Execute(ctx, tool.Call{Name: "wait"})
		ended <- err
	}()
	<-began
	killed := time.Now()
	b.nc.Close()
	err = <-ended
	if took := time.Since(killed); tool.CodeOf(err) != tool.CodeUnavailable || took > longestInterval*8/10 {
		t.Errorf("the call ended after %v: %v", took, err)
	}
}

func TestIntervalsHaveBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		known int32
		said  int64 // ms
		want  time.Duration
	}{
		{0, 0, interval}, {200, -5, interval}, {1000, 5000, 5 * time.Second}, {maxMembers, 1 << 62, longestInterval},
	} {
		f := new(Fleet)
		f.known.Store(c.known)
		if got, told := f.every(), (&announcement{Every: c.said}).every(); got != c.want || told != c.want {
			t.Errorf("%d hosts: %v; %d ms: %v; want %v", c.known, got, c.said, told, c.want)
		}
	}
}

// A definition that no registry takes is left out alone, also while a host joins.
func TestJoinLeavesOutBadTools(t *testing.T) {
	t.Parallel()
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	s, err := embedded.Start(embedded.Config{Keys: []string{key.Public()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	_, b := joined(t, s.URL(), key, "b")
	c := &catalogue{revision: 99, tools: map[string]shared{}, texts: map[string]json.RawMessage{}, names: []string{"bad", "good"}}
	for name, schema := range map[string]string{"bad": `{"type":"nonsense"}`, "good": `{"type":"object"}`} {
		c.add(&tool.Definition{Name: name, Description: "-", Safety: tool.Safe, InputSchema: tool.Schema(schema)}, shared{})
	}
	b.catalogue.Store(c)
	h, _ := joined(t, s.URL(), key, "a")
	if _, there := h.Get("good"); !there || h.Len() != 1 {
		t.Errorf("%d tools", h.Len())
	}
}
