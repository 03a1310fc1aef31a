package roster

import (
	"errors"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A look at all directories forgets what is over, and nothing else.
func TestForgetFaults(t *testing.T) {
	t.Parallel()
	gone, bad, late := tool.Errorf(tool.CodeNotFound, "/a is gone"), tool.Errorf(tool.CodeNotFound, "/b is bad"), unnoticed(errors.New("no room"))
	r := &Roster{directories: directories{dirs: []string{"/a", "/b"}}}
	for _, c := range []struct {
		dirs []string
		want []string
	}{
		{[]string{"/a"}, []string{gone.Message, bad.Message, tool.AsError(late).Message}}, // not a look at all
		{[]string{"/a", "/b"}, []string{bad.Message, tool.AsError(late).Message}},
	} {
		r.setFaults([]*tool.Error{gone, bad, tool.AsError(late)})
		r.forgetFaults(c.dirs, []error{bad})
		var got []string
		for _, e := range r.Faults() {
			got = append(got, e.Message)
		}
		assert.EqualSlicesf(t, got, c.want, "after a look at %q", c.dirs)
	}
}
