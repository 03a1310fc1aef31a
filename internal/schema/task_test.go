package schema

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
)

// costly has values that take long to check but are within the limits.
var costly = map[string]struct{ schema, value string }{
	"reading":    {`true`, `[` + each(1_000_000, `1`) + `]`},
	"fitting":    {`{"items":{"type":"integer","enum":[` + each(50, `@`) + `]}}`, `[` + each(150_000, `49`) + `]`},
	"a pattern":  {`{"pattern":"[ab]{0,999}c"}`, `"` + strings.Repeat("ab", 10_000) + `"`},
	"unique":     {`{"uniqueItems":true}`, `[` + each(900_000, `@`) + `]`},
	"the errors": {`{"items":{"type":"string"}}`, `[` + each(40_000, `1`) + `]`},
}

// TestCheckEndsWithItsContext checks that a check ends with its context,
// immediately if the context has already ended.
func TestCheckEndsWithItsContext(t *testing.T) { //nolint:paralleltest // it fills the slots of all checks
	for name, c := range costly {
		s := mustOutput(t, c.schema)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		assert.ErrorIsf(t, s.Check(gone, []byte(c.value)), context.Canceled, "%s, canceled before", name)
		soon, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		within(t, 100*time.Millisecond, func() {
			var violation *Violation
			err := s.Check(soon, []byte(c.value))
			if !errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &violation) && err != nil {
				t.Errorf("%s, with 5 ms: %v", name, err)
			}
		})
		cancel()
	}
}

// TestHeavyChecksTakeTurns checks that heavy checks wait for each other until
// their contexts end, and that light ones do not wait.
func TestHeavyChecksTakeTurns(t *testing.T) { //nolint:paralleltest // it fills the slots of all checks
	for range cap(heavySlots) {
		heavySlots <- struct{}{}
	}
	free := func() {
		for range cap(heavySlots) {
			<-heavySlots
		}
	}
	light := mustInput(t, benchSchema)
	if err := light.Check(t.Context(), []byte(`{"path":7}`)); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a light one: %v", err)
	}
	for name, c := range costly {
		s := mustOutput(t, c.schema)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		assert.ErrorIsf(t, s.Check(ctx, []byte(c.value)), context.DeadlineExceeded, "%s, with no slot free", name)
		cancel()
	}
	s, done := mustOutput(t, costly["fitting"].schema), make(chan error)
	go func() { done <- s.Check(context.Background(), []byte(costly["fitting"].value)) }()
	free()
	if err := <-done; err != nil {
		t.Errorf("when slots are free: %v", err)
	}
	if len(heavySlots) != 0 {
		t.Errorf("%d slots are still taken", len(heavySlots))
	}
}
