package host_test

import (
	"context"
	"fmt"
	"log"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func ExampleNew() {
	ctx := context.Background()
	h, err := host.New()
	if err != nil {
		log.Fatal(err)
	}

	type sum struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	err = h.Register(pluginsdk.Func("add", "Adds two numbers.", func(_ context.Context, s sum) (int, error) {
		return s.A + s.B, nil
	}, pluginsdk.Safe(), pluginsdk.Permission("math")))
	if err != nil {
		log.Fatal(err)
	}

	call := tool.Call{ID: "1", Name: "add", Arguments: []byte(`{"a": 2, "b": 3}`)}
	s := h.Session(host.WithGrants("math"))
	fmt.Println(s.Call(ctx, call).Content)
	s.Revoke("math")
	fmt.Println(s.Call(ctx, call).Error.Code)
	_, err = s.Execute(ctx, tool.Call{Name: "ad"})
	fmt.Println(err)
	if err := h.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 5
	// permission_denied
	// Unknown tool: ad (did you mean add?)
}
