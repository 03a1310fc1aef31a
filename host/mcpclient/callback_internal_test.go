package mcpclient

import (
	"net/http"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// A server may want a second authorization in one login: for what the first did not cover.
func TestBrowserComesBackTwice(t *testing.T) {
	t.Parallel()
	c := require.Must(newCallback(0, ""))(t)
	defer c.close()
	for _, code := range []string{"first", "second"} {
		c.expect(code+"-state", "")
		resp, err := http.Get(c.url + "?code=" + code + "&state=" + code + "-state")
		require.NoError(t, err)
		_ = resp.Body.Close()
		if got := <-c.results; got.err != nil || got.result.Code != code || !c.used() {
			t.Errorf("%s: %+v", code, got)
		}
	}
}
