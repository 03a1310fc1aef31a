package wire

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

func TestNeedsRoundTrip(t *testing.T) {
	t.Parallel()
	full := tool.Needs{
		Read: []string{"/usr/share", tool.Workspace}, Write: []string{"~/x"}, Net: []string{"[::1]:53", "a.example:443"}, Exec: []string{"git"},
		Memory: 1 << 50, CPU: 0.5,
	}
	for v, i := reflect.ValueOf(full), 0; i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Fatalf("this test does not set %s", v.Type().Field(i).Name)
		}
	}
	for _, n := range []*tool.Needs{nil, {}, &full} {
		b := require.Must(Description{Needs: n}.MarshalBinary())(t)
		var got Description
		if err := got.UnmarshalBinary(b); err != nil || !reflect.DeepEqual(got.Needs, n) {
			t.Errorf("%+v, %v, want %+v", got.Needs, err, n)
		}
	}
	// Two plugins that declare the same in another order say the same.
	n, err := needsFromProto(&pluginv1.Needs{
		Read: []string{"workspace", "/usr/share/", "workspace"}, Write: []string{"~/./x"}, Net: []string{"A.example:443", "[::0:1]:53"},
		Exec: []string{"git"}, MemoryBytes: 1 << 50, Cpu: 0.5,
	})
	if err != nil || !reflect.DeepEqual(n, &full) {
		t.Errorf("%+v, %v, want %+v", n, err, full)
	}
}

// Needs that cannot be read refuse the whole description, and say which entry.
func TestMalformedNeeds(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]*pluginv1.Needs{
		`net "*:443": it is too wide`:        {Net: []string{"a.example:443", "*:443"}},
		`read "etc": it is neither`:          {Read: []string{"etc"}},
		`write "/x\x00": it has a control`:   {Write: []string{"/x\x00"}},
		`exec "": it is empty`:               {Exec: []string{""}},
		`entry of exec with more than 4096`:  {Exec: []string{"/" + strings.Repeat("x", 5000)}},
		`read "/xxxx`:                        {Read: []string{"/" + strings.Repeat("x", 4096)}}, // one too long
		`more than 256 entries of write`:     {Write: make([]string, 257)},
		`memory is -9223372036854775808`:     {MemoryBytes: math.MinInt64},
		`cpu is NaN`:                         {Cpu: math.NaN()},
		`cpu is -Inf`:                        {Cpu: math.Inf(-1)},
		`the entries have 69632 bytes, more`: nil,
	} {
		if p == nil {
			want, p = `the entries have`, &pluginv1.Needs{}
			for i := range 17 {
				p.Read = append(p.Read, fmt.Sprintf("/%04d%s", i, strings.Repeat("x", 4091)))
			}
		}
		b, err := proto.Marshal(&pluginv1.DescribeResponse{Name: "p", Needs: p})
		require.NoError(t, err)
		got := Description{Name: "before"}
		err = got.UnmarshalBinary(b)
		if tool.CodeOf(err) != tool.CodeInvalidDefinition || !strings.Contains(err.Error(), want) || got.Name != "before" {
			t.Errorf("%+v, %v\nwant %s", got, err, want)
		}
	}
}

// Needs in many parts count together, and what is too much is refused before it is decoded:
// 16 MiB would become much more.
func TestNeedsInParts(t *testing.T) { //nolint:paralleltest // it measures memory
	part := func(p *pluginv1.Needs) []byte {
		b := require.Must(proto.Marshal(p))(t)
		return lengthField(fieldNeeds, b)
	}
	var got Description
	small := append(part(&pluginv1.Needs{Read: []string{"/b"}, Cpu: 1}), part(&pluginv1.Needs{Read: []string{"/a"}, Cpu: 2})...)
	if err := got.UnmarshalBinary(small); err != nil || !reflect.DeepEqual(got.Needs, &tool.Needs{Read: []string{"/a", "/b"}, CPU: 2}) {
		t.Errorf("%+v, %v", got.Needs, err)
	}
	half := part(&pluginv1.Needs{Net: make([]string, 200)})
	assert.ErrorContains(t, got.UnmarshalBinary(append(half, half...)), "more than 256 entries of net")
	size := maxDescription / byDay(16, 1) // a sixteenth would still become more than is allowed
	flood := lengthField(fieldNeeds, []byte(strings.Repeat("\x0a\x00", size/2)))
	empty := []byte(strings.Repeat(string(protowire.AppendBytes(protowire.AppendTag(nil, fieldNeeds, protowire.BytesType), nil)), size/2))
	for name, b := range map[string][]byte{"entries": flood, "parts": empty} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := checkBounds(b)
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 || (err == nil) != (name == "parts") {
			t.Errorf("%s: %d bytes allocated, %v", name, grown, err)
		}
	}
}
