package pluginrun

import (
	"context"
	"io"

	"github.com/hashicorp/go-plugin/runner"
)

// goRunner shows a process to go-plugin's client.
type goRunner struct {
	*process
	env []string // as go-plugin wants it
}

var _ runner.Runner = (*goRunner)(nil)

// Start implements [runner.Runner].
func (r *goRunner) Start(ctx context.Context) error { return r.start(ctx, r.env) }

// Diagnose implements [runner.Runner]. startError says what is wrong.
func (r *goRunner) Diagnose(context.Context) string { return "" }

// Stdout is the handshake line and then the end, so that no goroutine of go-plugin keeps
// reading.
func (r *goRunner) Stdout() io.ReadCloser { return r.output.forGo }

// Stderr is empty: go-plugin's own log parser panics on {"@message":42}.
func (r *goRunner) Stderr() io.ReadCloser { return emptyReader{} }

// Name implements [runner.Runner].
func (r *goRunner) Name() string { return r.name }

// ID implements [runner.Runner].
func (r *goRunner) ID() string { return r.id() }

// Wait implements [runner.Runner]. It returns early if go-plugin's client is not needed any
// more, which ends three of its goroutines.
func (r *goRunner) Wait(ctx context.Context) error {
	select {
	case <-r.detached:
		return nil
	case <-r.exited:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Kill implements [runner.Runner].
func (r *goRunner) Kill(ctx context.Context) error {
	r.kill()
	select {
	case <-r.exited:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// PluginToHost implements [runner.Runner]: it connects to the plugin. What go-plugin
// is told afterwards is what it shows; it dials nothing, see dialOptions.
func (r *goRunner) PluginToHost(network, address string) (string, string, error) {
	return r.grpc.connect(network, address, r.number)
}

// HostToPlugin implements [runner.Runner]; both see the same file system.
func (r *goRunner) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

type emptyReader struct{}

func (emptyReader) Read([]byte) (int, error) { return 0, io.EOF }
func (emptyReader) Close() error             { return nil }
