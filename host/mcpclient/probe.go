package mcpclient

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// aloneTime is how long server/discover goes without an answer before initialize is sent as well. Programs
// that know no such request often leave it unanswered, and those that are slow to start answer nothing.
const aloneTime = time.Second

// behindTime is how much later than that of initialize the answer to server/discover may come and still decide:
// a program that was slow to start has both requests at once, answers in any order, and takes the session to be
// of the newest revision.
const behindTime = aloneTime / 4

// answer is what became of a request.
type answer struct {
	result mcp.Result
	err    error
}

// discover asks a program for the newest revision and, if it does not answer soon, for one with sessions too:
// the first answer that is not an error decides, or the newest revision if both come together. Neither request is cancelled, which a program may not expect
// before it has answered initialize.
func (l *link) discover(ctx context.Context, next mcp.MethodHandler, req mcp.Request) (mcp.Result, error) {
	ask := func(method string, req mcp.Request) <-chan answer {
		out := make(chan answer, 1)
		go func() { // until it is answered, or the connection ends
			result, err := next(ctx, method, req)
			out <- answer{result, err}
		}()
		return out
	}
	newest := ask("server/discover", req)
	late := time.NewTimer(aloneTime)
	defer late.Stop()
	select {
	case a := <-newest:
		return a.result, a.err
	case <-late.C:
	}
	session, ok := req.GetSession().(*mcp.ClientSession)
	if !ok { // as the SDK has no other
		return nil, errClosed
	}
	old := ask("initialize", &mcp.InitializeRequest{Session: session, Params: &mcp.InitializeParams{
		ProtocolVersion: lastWithSessions, ClientInfo: implementation(), Capabilities: l.can,
	}})
	var refused error
	var behind <-chan time.Time
	for range 2 {
		select {
		case a := <-newest:
			if a.err == nil {
				return a.result, nil
			}
			if refused = a.err; l.begun != nil {
				return nil, errUndiscovered
			}
		case a := <-old:
			if a.err != nil {
				continue
			}
			if l.begun = a.result; refused != nil {
				return nil, errUndiscovered
			}
			behind = time.After(behindTime)
		case <-behind:
			return nil, errUndiscovered
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return nil, refused
}
