package llmschema_test

import (
	"fmt"

	"github.com/toolhost/toolhost/host/llmschema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func ExampleAlias() {
	given := map[string]bool{}
	for _, name := range []string{"describe_symbol", "fs.read", "fs_read"} {
		alias := llmschema.Alias(name, func(a string) bool { return given[a] })
		given[alias] = true
		fmt.Println(name, "is called", alias)
	}
	// Output:
	// describe_symbol is called describe_symbol
	// fs.read is called fs_read
	// fs_read is called fs_read_42bf01ad
}

func ExampleExport() {
	text, err := llmschema.Export(llmschema.OpenAI, []tool.Definition{{
		Name: "get_last_error", Alias: "get_last_error", Description: "Shows the last failure.", Safety: tool.Safe,
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", text)
	// Output:
	// [
	//   {
	//     "type": "function",
	//     "function": {
	//       "name": "get_last_error",
	//       "description": "Shows the last failure.",
	//       "parameters": {
	//         "type": "object",
	//         "properties": {},
	//         "additionalProperties": false
	//       }
	//     }
	//   }
	// ]
}

func ExampleParseFormat() {
	_, err := llmschema.ParseFormat("yaml")
	fmt.Println(err)
	// Output: unknown format "yaml" (use openai, anthropic, gemini or mcp)
}
