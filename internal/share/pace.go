package share

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Paces bound how often each of many does something. The zero value is ready, and is safe for concurrent use.
type Paces[K comparable] struct {
	mu sync.Mutex
	of map[K]*rate.Limiter
}

// maxPaces is how many are remembered.
const maxPaces = 4096

// Allow reports whether one may do n things more, of which so many a second may be done, and burst at once.
func (p *Paces[K]) Allow(one K, n int, second rate.Limit, burst int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.of[one]
	if known == nil {
		if len(p.of) >= maxPaces { // those that were silent for a while are as good as new
			maps.DeleteFunc(p.of, func(_ K, l *rate.Limiter) bool { return l.Tokens() >= float64(burst) })
		}
		if p.of == nil || len(p.of) >= maxPaces {
			p.of = map[K]*rate.Limiter{}
		}
		known = rate.NewLimiter(second, burst)
		p.of[one] = known
	}
	return known.AllowN(time.Now(), min(n, burst))
}
