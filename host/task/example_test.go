package task_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/task"
	"github.com/toolhost/toolhost/pluginsdk"
)

// A call goes on while its caller does something else, and comes back for the result.
func ExampleNewMemory() {
	ctx := context.Background()
	h, err := host.New()
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = h.Close(ctx) }()
	if err := h.Register(pluginsdk.Func("greet", "Greets.", func(_ context.Context, in struct {
		Name string `json:"name"`
	}) (string, error) {
		return "Hello, " + in.Name, nil
	}, pluginsdk.Safe())); err != nil {
		log.Print(err)
		return
	}
	tasks := task.NewMemory(task.MemoryOptions{})
	defer func() { _ = tasks.Close(ctx) }()
	s := h.Session(host.WithCaller(host.Caller{Name: "ann"}))
	t, err := tasks.Start(ctx, task.Call{Session: s, Tool: "greet", Arguments: json.RawMessage(`{"name":"Ann"}`)})
	for ; err == nil && !t.State.Over(); t, err = tasks.Get(ctx, s, t.ID) {
		time.Sleep(time.Millisecond) // t.Poll is a second
	}
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println(t.State, t.End.Outcome.Content)
	// Output: ended Hello, Ann
}
