package hostile

import (
	"fmt"
	"math"
	"strings"

	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What a plugin may describe, tool by tool within the bounds, that is too much.
const (
	Verbose   plugintest.Mode = "verbose"   // has 1,000 tools, each with 200 subschemas, and a good one
	Intricate plugintest.Mode = "intricate" // has 200 tools, each with 1,990 subschemas, and a good one
	Secretive plugintest.Mode = "secretive" // has a tool with 1.5 million sensitive names, and a good one
	Eternal   plugintest.Mode = "eternal"   // claims 292 years for a call, and as many again ten times, and never answers
	Whisperer plugintest.Mode = "whisperer" // has a tool for each of [Whispers], and a good one
)

func verboseModes() map[plugintest.Mode]func() {
	return map[plugintest.Mode]func(){
		Verbose:   func() { describeMuch(1000, 200) },
		Intricate: func() { describeMuch(200, 1990) },
		Secretive: func() {
			secretive := define("secretive.many")
			secretive.Sensitive = make([]string, 1_500_000)
			for i := range secretive.Sensitive {
				secretive.Sensitive[i] = "x"
			}
			warn()
			server{about: wire.Description{Tools: []tool.Definition{define(Tool), secretive}}}.serve()
		},
		Eternal: func() {
			eternal := define(Tool)
			eternal.Timeout, eternal.Idempotent, eternal.MaxRetries = tool.Duration(math.MaxInt64/1_000_000*1_000_000), true, 10 // whole milliseconds
			warn()
			server{about: wire.Description{Tools: []tool.Definition{eternal}}, answer: func(call) {}}.serve()
		},
		Whisperer: func() {
			about := wire.Description{Tools: []tool.Definition{define(Tool)}}
			for name, text := range Whispers() {
				title, description, schema := define(name+".title"), define(name+".description"), define(name+".schema")
				title.Title, description.Description = "A title"+text+".", "Does it."+text+"."
				schema.InputSchema = tool.Schema(`{"type":"object","properties":{"a":{"description":"An argument.` + text + `."}}}`)
				about.Tools = append(about.Tools, title, description, schema)
			}
			warn()
			server{about: about}.serve()
		},
	}
}

// describeMuch has so many tools with so many subschemas each.
func describeMuch(tools, subschemas int) {
	about := wire.Description{Tools: []tool.Definition{define(Tool)}}
	branches := strings.Repeat("{},", subschemas-2) // without the schema itself and the last
	for i := range tools {
		d := define(fmt.Sprintf("verbose.t%03d", i))
		d.InputSchema = tool.Schema(fmt.Sprintf(`{"type":"object","title":"%d","anyOf":[%s{}]}`, i, branches))
		about.Tools = append(about.Tools, d)
	}
	warn()
	server{about: about}.serve()
}

// Whispers are texts that a model reads and a person does not see, or sees in another
// order, by name.
func Whispers() map[string]string {
	return map[string]string{
		"tags":        "\U000e0041\U000e0042\U000e007f",
		"zerowidth":   "\u200b\u200b",
		"joiners":     "\u200c\u200d\u200c",
		"separators":  "\u2028then\u2029",
		"arabicmark":  "\u061cx",
		"mark":        "\u200fx",
		"operators":   "\u2061\u2064",
		"byteorder":   "\ufeffx",
		"softhyphen":  "x\u00adx",
		"selectors":   "\ufe01\U000e0100\U000e01ef",
		"filler":      "\u3164\u115f",
		"override":    "\u202ex\u2069",
		"annotations": "\ufff9x\ufffb",
	}
}
