package installer

import (
	"fmt"
	"time"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// progressPause is the time between two lines of progress.
const progressPause = 200 * time.Millisecond

// progress returns what shows on a terminal how much was fetched, and how fast; nil: there is none.
func (i *Installer) progress() func(what string, done, size int64) {
	if i.session.Flags.JSON || !i.session.Err.Terminal() {
		return nil
	}
	begun, shown, first := time.Time{}, time.Time{}, int64(0)
	return func(what string, done, size int64) {
		now := time.Now()
		if begun.IsZero() || done < first {
			begun, first = now, done
		}
		if done < size && now.Sub(shown) < progressPause {
			return
		}
		shown = now
		rate := ""
		if since := now.Sub(begun).Seconds(); since > 0 {
			rate = fmt.Sprintf(", %.1f MiB/s", mebibytes(done-first)/since)
		}
		i.session.Err.Printf("\r%s: %.1f of %.1f MiB%s\x1b[K", sanitize.Line(what, 60), mebibytes(done), mebibytes(size), rate)
		if done == size {
			i.session.Err.Printf("\n")
			begun = time.Time{}
		}
	}
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }
