package tool_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func ExampleReport() {
	index := func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		for i := range 3 {
			tool.Report(ctx, tool.Progress{Done: float64(i + 1), Total: 3, Message: "a file more"})
		}
		return tool.Text("done"), nil
	}
	ctx := tool.WithProgress(context.Background(), func(p tool.Progress) { fmt.Println(p.Done, "of", p.Total) })
	if _, err := index(ctx, tool.Call{Name: "index"}); err != nil {
		fmt.Println(err)
	}
	tool.Report(context.Background(), tool.Progress{}) // does nothing: the context has no receiver
	// Output:
	// 1 of 3
	// 2 of 3
	// 3 of 3
}

func ExampleLog() {
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})))

	tool.Log(context.Background(), slog.LevelWarn, "slow disk", "path", "a.txt", "took", 3)
	// Output:
	// level=WARN msg="slow disk" path=a.txt took=3
}
