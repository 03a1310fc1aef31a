// Command forecast is a plugin that has to be configured with a secret.
package main

import (
	"context"
	"fmt"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type settings struct {
	Token string `json:"token" sensitive:"true" minLength:"8"`
}

func main() {
	var token string
	p := pluginsdk.Plugin{
		Name: "forecast", Version: "1.0.0",
		Configuration: pluginsdk.Configuration(func(_ context.Context, _ pluginsdk.Config, s settings) error {
			token = s.Token
			return nil
		}),
		Tools: []tool.Tool{
			pluginsdk.Func("forecast.length", "The length of the token.", func(context.Context, struct{}) (string, error) {
				return fmt.Sprintf("it has %d", len(token)), nil
			}, pluginsdk.Safe()),
			pluginsdk.Func("forecast.panics", "Panics.", func(context.Context, struct{}) (string, error) {
				panic("boom")
			}, pluginsdk.Safe()),
			pluginsdk.Func("forecast.later", "Is not ready.", func(context.Context, struct{}) (string, error) {
				return "", &tool.Error{Code: tool.CodeUnavailable, Message: "not yet", RetryAfter: tool.Duration(90e9)}
			}, pluginsdk.Safe()),
		},
	}
	p.Main()
}
