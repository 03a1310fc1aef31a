package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// nodeVariable is what a process that is a host of the fleet has in its environment.
const nodeVariable = "TOOLHOST_SOAK_NODE"

// nodeSpec is what such a process is told.
type nodeSpec struct{ URL, Dir, Name string }

// node is a host in a process of its own, which starts again and again.
type node struct {
	name  string
	spec  nodeSpec
	cmd   *exec.Cmd
	stdin io.Closer
}

// start returns when the host has joined the fleet.
func (n *node) start() error {
	text, err := json.Marshal(n.spec)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self) //nolint:gosec,noctx // this program
	cmd.Env, cmd.Stderr = append(os.Environ(), nodeVariable+"="+string(text)), os.Stderr
	if n.stdin, err = cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	n.cmd = cmd
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		return fmt.Errorf("host %s says %q: %w", n.name, line, err)
	}
	return nil
}

// end has it leave the fleet, and waits for its end.
func (n *node) end() {
	if n.cmd == nil {
		return
	}
	_ = n.stdin.Close()
	late := time.AfterFunc(patience, func() { _ = n.cmd.Process.Kill() })
	_ = n.cmd.Wait()
	late.Stop()
	n.cmd = nil
}

func (n *node) kill() {
	_ = n.cmd.Process.Kill()
	n.end()
}

// runNode is the host. It leaves when its standard input ends.
func runNode(text string) error {
	var spec nodeSpec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		return err
	}
	key, err := fleet.KeyFile(filepath.Join(spec.Dir, "fleet.key"))
	if err != nil {
		return err
	}
	l, err := openLedger(ledgerOf(spec.Dir, spec.Name))
	if err != nil {
		return err
	}
	h, err := host.New()
	if err != nil {
		return err
	}
	for _, t := range []tool.Tool{
		pluginsdk.Func(again, "Notes the call, waits, and may be repeated.", noted(l), pluginsdk.Safe(), pluginsdk.Idempotent(0)),
		pluginsdk.Func(once, "Notes the call, waits, and must not be repeated.", noted(l), pluginsdk.Safe()),
	} {
		if err := h.Register(t); err != nil {
			return err
		}
	}
	ctx := context.Background()
	f, err := fleet.Join(ctx, h, fleet.Config{URL: spec.URL, Key: key, Name: spec.Name, Share: []string{"*"}})
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(os.Stdout, "ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	leave, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return errors.Join(f.Leave(leave), f.Close(ctx), h.Close(ctx))
}
