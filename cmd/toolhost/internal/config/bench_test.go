package config

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/toolhost/toolhost/internal/setting"
	"github.com/toolhost/toolhost/internal/test/require"
)

// What a command pays for its settings: once to read the tags, and for each file.
func BenchmarkSettings(b *testing.B) {
	b.Run("tags", func(b *testing.B) {
		n := 0
		for b.Loop() {
			setting.Of(reflect.StructOf([]reflect.StructField{{
				Name: "C", Type: reflect.TypeFor[Config](), Tag: reflect.StructTag(fmt.Sprintf(`json:"c%d"`, n)),
			}}))
			n++
		}
	})
	b.Run("file", func(b *testing.B) {
		file := []byte("plugin_dirs: [a]\nlog_level: info\nplugins: {fs: {idle_time: 5m, limits: {running: 4}}}\n")
		for b.Loop() {
			require.Must(Parse("toolhost.yaml", file))(b)
		}
	})
}
