package host

import (
	"sync"
	"weak"
)

// maxCompiled bounds the tools of a host that are compiled at a time: each takes some 8 KiB, and is compiled
// again in 20 µs.
const maxCompiled = 4096

// recent are the entries that are compiled. The one that was compiled first is the first whose
// compiled form is dropped, however often it is called, so that calls write nothing here: a tool that
// is called all the time is compiled again once in 4096 others. The zero value is empty.
type recent struct {
	mu   sync.Mutex
	all  []weak.Pointer[entry] // a ring
	next int
}

// add takes an entry that has just been compiled.
func (r *recent) add(e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) < maxCompiled {
		r.all = append(r.all, weak.Make(e))
		return
	}
	if oldest := r.all[r.next].Value(); oldest != nil {
		oldest.form.Store(nil)
	}
	r.all[r.next] = weak.Make(e)
	r.next = (r.next + 1) % maxCompiled
}
