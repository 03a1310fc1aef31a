package control_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Clients that do not speak, do not finish or do not read cannot keep others out.
func TestCrowd(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{ //nolint:paralleltest // each crowd fills the socket
		"silent":      "",
		"half header": "GET /metrics HTTP/1.1\r\nHost: ",
		"half body":   strings.Replace(stream("Call", "{}"), "Content-Length: 7", "Content-Length: 1000", 1),
		"no reading":  post("ListTools", "{}"),
	} {
		t.Run(name, func(t *testing.T) {
			d := newDaemon(t, (*control.Server).Patient, (*control.Server).Narrow)
			for i := range 4 { // so that their list does not fit into the socket
				d.answersAs(t, fmt.Sprint("tool", i), strings.Repeat("x", 4<<10))
			}
			for _, more := range []int{control.MaxConnections + 50, 20} {
				for range more {
					conn := d.connect()
					_, _ = io.WriteString(conn, text)
					if name == "no reading" { // the rest; the daemon has begun to wait
						_, _ = conn.Read(make([]byte, 1))
					}
				}
				conn := d.connect()
				require.NoError(t, conn.SetReadDeadline(time.Now().Add(5*require.Ceiling)))
				_, _ = io.WriteString(conn, state)
				line, err := bufio.NewReader(conn).ReadString('\n')
				if err != nil || !strings.Contains(line, " 200 ") {
					t.Errorf("it answers %q, %v", line, err)
				}
			}
		})
	}
}

// answersAs adds a tool with a description.
func (s *service) answersAs(t *testing.T, name, description string) {
	t.Helper()
	require.NoError(t, s.Host.Register(tool.Tool{
		Definition: tool.Definition{Name: name, Description: description, Safety: tool.Safe},
		Handler:    func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, nil },
	}))
}

// Questions without answers do not keep callers from calling, and are bounded themselves.
func TestQuestionsThatWait(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	c := d.client()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked, answers := make(chan bool, 100), make(chan control.Answer, 100)
	ask := func() {
		go func() {
			answers <- c.Call(ctx, control.Call{Name: "danger"}, policy.ApproverFunc(func(ctx context.Context, _ policy.Request) (policy.Decision, error) {
				asked <- true
				<-ctx.Done()
				return policy.Decision{}, ctx.Err()
			}))
		}()
	}
	for range 16 { // of this process
		ask()
		<-asked
	}
	ask()
	a := <-answers
	if tool.CodeOf(a.Err) != tool.CodeApprovalDenied || !strings.Contains(a.Err.Error(), "16 questions to process") {
		t.Errorf("a question too many ends with %v", a.Err)
	}
	codes := make(chan tool.Code, 200)
	for range 128 { // as many as without them
		go func() { codes <- tool.CodeOf(c.Call(ctx, control.Call{Name: "wait"}, nil).Err) }()
	}
	for range 128 {
		select {
		case <-d.began:
		case code := <-codes:
			t.Fatalf("a call ends with %s", code)
		}
	}
	cancel()
}

// A question has an end, which the client is told beforehand.
func TestQuestionHasAnEnd(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	conn := d.connect()
	_, _ = io.WriteString(conn, stream("Call", `{"name": "danger", "approves": true, "timeoutMs": 3600000}`))
	for in := bufio.NewScanner(conn); in.Scan(); {
		if strings.Contains(in.Text(), `{"approval":`) {
			if !strings.Contains(in.Text(), `"withinMs":"3600000"`) && !strings.Contains(in.Text(), `"withinMs":"3599`) {
				t.Errorf("it asks %s", in.Text())
			}
			return
		}
	}
	t.Error("it does not ask")
}
