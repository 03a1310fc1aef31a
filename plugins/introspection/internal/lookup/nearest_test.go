package lookup

import (
	"reflect"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"http.Client", "http.Client.Do", "http.CloseNotifier", "io.Closer", "fmt.Print", "fmt.Println", "net/http", "x.client"}
	for _, c := range []struct {
		wanted string
		want   []string
	}{
		{"client", []string{"http.Client", "x.client", "http.Client.Do"}},
		{"Clinet", []string{"http.Client", "x.client"}},
		{"Prin", []string{"fmt.Print", "fmt.Println"}},
		{"htpp", []string{"net/http"}},
		{"Notifier", []string{"http.CloseNotifier"}},
		{"Zebra", []string{}},
		{"", []string{}},
	} {
		assert.EqualSlicesf(t, Nearest(c.wanted, names), c.want, "nearest to %q", c.wanted)
	}
	many := []string{"a1", "a2", "a3", "a4", "a5", "a6", "a7"}
	if got := Nearest("a", many); len(got) != maxNearest {
		t.Errorf("%d names are offered", len(got))
	}
}

func TestParseName(t *testing.T) {
	t.Parallel()
	for symbol, want := range map[string][]parsed{
		"Name":                  {{"", "Name", []string{}}},
		"a.B":                   {{"a", "B", []string{}}, {"", "a", []string{"B"}}},
		"a.B.C":                 {{"a.B", "C", []string{}}, {"a", "B", []string{"C"}}, {"", "a", []string{"B", "C"}}},
		"x/a.B":                 {{"x/a", "B", []string{}}},
		"x/yaml.v3.Node.Decode": {{"x/yaml.v3.Node", "Decode", []string{}}, {"x/yaml.v3", "Node", []string{"Decode"}}, {"x/yaml", "v3", []string{"Node", "Decode"}}},
		"(*net/http.Client).Do": {{"net/http.Client", "Do", []string{}}, {"net/http", "Client", []string{"Do"}}},
		"List[map[K]V].Push":    {{"List", "Push", []string{}}, {"", "List", []string{"Push"}}},
		"./host.Registry":       {{"./host", "Registry", []string{}}},
		"example.com/m.T":       {{"example.com/m", "T", []string{}}},
		"a/b":                   nil, "a/": nil, ".": nil, "": nil, "a..b": nil, "a b": {{"", "ab", []string{}}}, "x/.B": nil, "1.2": nil,
	} {
		got, err := parseName(symbol)
		if len(want)+len(got) > 0 && !reflect.DeepEqual(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q is parsed as %+v, %v, want %+v", symbol, got, err, want)
		}
	}
}
