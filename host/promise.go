package host

import (
	"encoding/json"
	"sync"

	"github.com/toolhost/toolhost/internal/schema"
)

// promise is [Host.build] for a tool that was compiled by an earlier process, and
// whose definition is the same: it puts off what takes time until somebody calls it.
// A host that lists a thousand tools and calls one compiles one.
//
// Nothing is taken on trust by that. A call is not decided before its tool is
// compiled, with all checks; if that fails, however it came about, the call is
// refused.
func (h *Host) promise(e *entry) *entry {
	draft := *e
	if len(e.def.InputSchema) == 0 {
		e.def.InputSchema = noArguments()
	}
	e.later = sync.OnceValues(func() (*entry, error) { return h.build(&draft, nil) })
	return e
}

// compiled is the entry that calls go to: itself, or what it promises.
func (e *entry) compiled() (*entry, error) {
	if e.later == nil {
		return e, nil
	}
	return e.later()
}

// noArguments is the schema that stands in the definition of a tool that has none.
var noArguments = sync.OnceValue(func() json.RawMessage {
	s, err := schema.CompileInput(nil)
	if err != nil {
		panic(err)
	}
	return s.Text()
})
