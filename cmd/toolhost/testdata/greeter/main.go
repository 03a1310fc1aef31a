// Command greeter is a plugin of which tests make versions: its version is replaced in the binary.
package main

import (
	"context"
	"strings"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// version is replaced by a text of the same length.
var version = "7.7.777"

func main() {
	p := pluginsdk.Plugin{Name: "greeter", Version: version, Needs: &tool.Needs{Read: []string{tool.Workspace}}, Tools: []tool.Tool{
		pluginsdk.Func("greet.version", "Answers with the version.", func(context.Context, struct{}) (string, error) { return version, nil },
			pluginsdk.Safe()),
	}}
	if strings.HasPrefix(version, "2.") { // it wants more
		p.Needs.Net = []string{"greetings.example:443"}
		p.Tools = append(p.Tools, pluginsdk.Func("greet.send", "Sends a greeting.",
			func(context.Context, struct{}) (string, error) { return "sent", nil }, pluginsdk.Dangerous(), pluginsdk.Permission("net")))
	}
	if strings.HasPrefix(version, "0.") { // it declares nothing
		p.Needs = nil
	}
	p.Main()
}
