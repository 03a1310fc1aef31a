package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// crowd returns a host with so many tools, of which every third needs a grant.
func crowd(t testing.TB, n int) *host.Host {
	t.Helper()
	h := newHost(t)
	all := make([]tool.Tool, n)
	for i := range all {
		all[i] = echo(fmt.Sprintf("group%d.tool%05d", i%100, i), func(d *tool.Definition) {
			d.Description = strings.Repeat("Does nothing. ", 10)
			d.InputSchema = tool.Schema(`{"type":"object","properties":{"path":{"type":"string","pattern":"^[^/].*$"},` +
				`"limit":{"type":"integer","minimum":1},"all":{"type":"boolean"}},"required":["path"],"additionalProperties":false}`)
			if i%3 == 0 {
				d.Permission = "fs:read"
			}
		})
	}
	require.Must(h.Attach(t.Context(), "crowd", require.Must(tool.NewSet(all...))(t)))(t)
	return h
}

// lister lists all pages of a server as a client on pipes does that decodes nothing but cursors.
func lister(t testing.TB, s *mcpserver.Server) (list func() (pages, bytes int)) {
	t.Helper()
	to, from, _ := rawClient(t, s)
	ask := func(text string) []byte {
		require.Must(to.WriteString(text))(t)
		if !from.Scan() {
			t.Fatal("the connection has ended")
		}
		return from.Bytes()
	}
	ask(hello)
	return func() (pages, bytes int) {
		for cursor := ""; ; {
			page := ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":%q}}`, cursor) + "\n")
			pages, bytes = pages+1, bytes+len(page)
			_, next, more := strings.Cut(string(page[len(page)-min(200, len(page)):]), `"nextCursor":"`)
			if !more {
				return pages, bytes
			}
			cursor, _, _ = strings.Cut(next, `"`)
		}
	}
}

// Lists of many tools: the first, for which they are prepared, and those after it.
func BenchmarkList(b *testing.B) {
	h := crowd(b, 10_000)
	run := func(name string, list func() func() (int, int)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				one := list()
				b.StartTimer()
				if pages, _ := one(); pages != 50 {
					b.Fatal(pages, "pages")
				}
			}
		})
	}
	first := func() func() (int, int) {
		return lister(b, serve(b, h, mcpserver.Options{}, host.WithGrants("fs:read")))
	}
	run("first", first)
	again := first()
	again()
	run("again", func() func() (int, int) { return again })
}

// A page costs what it has, and not what the host has.
func TestPageAllocatesLittle(t *testing.T) { //nolint:paralleltest // it counts what is allocated
	list := lister(t, serve(t, crowd(t, 2_000), mcpserver.Options{}, host.WithGrants("fs:read")))
	pages, bytes := list()
	least := 1 << 40
	for range 3 { // others allocate, too
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		list()
		runtime.ReadMemStats(&after)
		least = min(least, int(after.TotalAlloc-before.TotalAlloc))
	}
	if most := 16 * bytes; least > most { // each page of all tools would be 26 times
		t.Errorf("%d pages of %d bytes in all allocate %d, more than %d", pages, bytes, least, most)
	}
}

// Clients share what is prepared for lists, and none sees a tool in it that is not for it, whatever changes.
func TestListsAreEachOnesOwn(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	said := func(i int, description string) tool.Tool {
		return echo(fmt.Sprintf("%s.%d", []string{"open", "held", "b"}[i%3], i), func(d *tool.Definition) {
			d.Description = description
			if i%3 == 1 {
				d.Permission = "fs:read"
			}
			if i%2 == 0 {
				d.OutputSchema = tool.Schema(`{"type":"array"}`)
			}
		})
	}
	const most = 30
	for i := range most {
		require.NoError(t, h.Register(said(i, "the first")))
	}
	s := serve(t, h, mcpserver.Options{
		PageSize: 4, CanonicalNames: func(s *host.Session) bool { return s.Holds("fs:write") },
		Session: func(_ context.Context, c mcpserver.Client) (*host.Session, error) {
			switch c.Name {
			case "holder":
				return h.Session(host.WithGrants("fs:read")), nil
			case "canonical":
				return h.Session(host.WithGrants("fs:read", "fs:write")), nil
			case "blind":
				return h.Session(host.WithVisible(func(d tool.Definition) bool { return strings.HasPrefix(d.Name, "b.") })), nil
			case "searcher":
				return h.Session(host.WithToolSearch(true)), nil
			}
			return h.Session(), nil
		},
	})
	may := map[string]string{"anyone": "open_ b_", "holder": "open_ held_ b_", "canonical": "open. held. b.", "blind": "b_", "searcher": "tools_"}
	type seen struct {
		name, description string
		output            bool
	}
	list := func(c *mcp.ClientSession) (all []seen) {
		for one, err := range c.Tools(context.Background(), nil) {
			if err != nil {
				t.Error(err)
				break
			}
			all = append(all, seen{one.Name, one.Description, one.OutputSchema != nil})
		}
		return all
	}
	var clients, writer sync.WaitGroup
	stop := make(chan struct{})
	writer.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				assert.NoError(t, h.Replace(said(i%most, fmt.Sprint("the next ", i))))
			}
		}
	})
	for name, prefixes := range may {
		for _, w := range ways[:2] {
			c := w.connect(t, s, nil, name)
			clients.Go(func() {
				for range 10 {
					all := list(c)
					if !slices.IsSortedFunc(all, func(a, b seen) int { return strings.Compare(a.name, b.name) }) {
						t.Errorf("%s by %s: the list is not sorted: %v", name, w.name, all)
					}
					for _, one := range all {
						kind := one.name[:strings.IndexAny(one.name, "._")+1]
						if !slices.Contains(strings.Fields(prefixes), kind) {
							t.Errorf("%s by %s sees %s", name, w.name, one.name)
						}
						if one.output && w.version < "2026" {
							t.Errorf("%s by %s is shown an output schema of an array", name, w.name)
						}
					}
				}
			})
		}
	}
	clients.Wait()
	close(stop)
	writer.Wait()
	for i := range most {
		require.NoError(t, h.Replace(said(i, "the last")))
	}
	for name, prefixes := range may {
		all := list(ways[1].connect(t, s, nil, name))
		if want := len(strings.Fields(prefixes)) * most / 3; name != "searcher" && len(all) != want {
			t.Errorf("%s sees %d tools, not %d", name, len(all), want)
		}
		for _, one := range all {
			if name != "searcher" && one.description != "the last" {
				t.Errorf("%s sees what was: %v", name, one)
			}
		}
	}
	require.NoError(t, h.Remove("open.0"))
	if got, _ := json.Marshal(list(ways[1].connect(t, s, nil, "anyone"))); strings.Contains(string(got), "open_0") {
		t.Errorf("what was removed is listed: %s", got)
	}
}
