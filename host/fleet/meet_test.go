package fleet

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
)

// TestOwnAnswerIsNoMember checks that a host that joins waits for others as long after its own answer, which
// comes at once, as without.
func TestOwnAnswerIsNoMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answers := make(chan *nats.Msg)
		other := new(member)
		go func() {
			answers <- &nats.Msg{}
			time.Sleep(meetFirst - time.Millisecond)
			answers <- &nats.Msg{Data: []byte("other")}
		}()
		begin := time.Now()
		met := collect(t.Context(), answers, func(said []byte) *member {
			if len(said) == 0 {
				return nil
			}
			return other
		})
		if len(met) != 1 || met[0] != other {
			t.Errorf("met %v", met)
		}
		if took, want := time.Since(begin), meetFirst-time.Millisecond+meetQuiet; took != want {
			t.Errorf("it took %v, not %v", took, want)
		}
	})
}
