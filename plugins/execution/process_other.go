//go:build !unix

package main

import (
	"os"
	"os/exec"
)

const canLaunch = false

type confinement struct{}

var confinements = []confinement{{}}

func (confinement) possible() bool { return true }

func (confinement) apply(*exec.Cmd) {}

func kill(process *os.Process) { _ = process.Kill() }

func (p *process) reap(cmd *exec.Cmd, ended func()) error {
	err := cmd.Wait()
	ended()
	return err
}

func (p *process) usage() (processes int, memory int64) { return 0, 0 }
