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
	offer, err := llmschema.Export(llmschema.OpenAI, []tool.Definition{{
		Name: "get_last_error", Alias: "get_last_error", Description: "Shows the last failure.", Safety: tool.Safe,
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", offer.Tools)
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

// Models know some arguments by other names than the tool does. The offer gives them back.
func ExampleOffer_Arguments() {
	offer, err := llmschema.Export(llmschema.Anthropic, []tool.Definition{{
		Name: "items.list", Alias: "items_list", Description: "Lists items.", Safety: tool.Safe,
		InputSchema: tool.Schema(`{"type":"object","properties":{"$filter":{"type":"string"}}}`),
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(offer.Notes[0].Renamed)
	fmt.Printf("%s\n", offer.Arguments("items_list", []byte(`{"_filter":"name eq 'a'"}`)))
	// Output:
	// map[_filter:$filter]
	// {"$filter":"name eq 'a'"}
}

func ExampleParseFormat() {
	_, err := llmschema.ParseFormat("yaml")
	fmt.Println(err)
	// Output: unknown format "yaml" (use openai, openai-responses, anthropic, gemini or mcp)
}
