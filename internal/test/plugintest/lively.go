package plugintest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// beLively is a plugin that tells in the files "ended" and "shutdown" of its workspace of which it was
// told, and is as well as the file "health" says: a problem, or "hang" or "panic".
func beLively() {
	type visits struct{ count int }
	sessions := pluginsdk.Sessions[visits]{}
	pluginsdk.Plugin{
		Tools: []tool.Tool{
			pluginsdk.Func("lively.visit", "Counts the calls of the session.", func(ctx context.Context, _ none) (string, error) {
				v := sessions.Get(ctx)
				v.count++
				return fmt.Sprintf("%d of %d", v.count, sessions.Len()), nil
			}, pluginsdk.Safe()),
			pluginsdk.Func("lively.hold", "Waits for a file.", func(ctx context.Context, in struct {
				File string `json:"file"`
			}) (string, error) {
				return "held", awaitFile(ctx, in.File)
			}, pluginsdk.Safe()),
		},
		SessionEnded: func(ctx context.Context, session string) {
			sessions.Ended(ctx, session)
			_ = leave("ended", session)
		},
		Health: func(ctx context.Context) error {
			problem, err := os.ReadFile("health")
			switch {
			case errors.Is(err, os.ErrNotExist):
				return nil
			case string(problem) == "hang":
				<-ctx.Done()
				return ctx.Err()
			case string(problem) == "panic":
				panic("out of order")
			}
			return errors.New(strings.TrimSpace(string(problem)))
		},
		Shutdown: func(context.Context) error {
			if err := leave("shutdown", "done"); err != nil {
				return err
			}
			return errors.New("one thing was left")
		},
	}.Main()
}

// leave adds a line to a file of the workspace.
func leave(name, line string) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}
