package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Tree is where groups can be made; here, each is a job object.
type Tree struct{}

// Group is a group of processes with limits. It is safe for concurrent use.
type Group struct {
	limits []Limit
	mu     sync.Mutex
	job    windows.Handle // 0: none was made, or it is closed
}

// Find has nothing to look for here.
func Find() *Tree { return &Tree{} }

// By returns "job object".
func (t *Tree) By(Limit) (string, error) { return "job object", nil }

// cpuRate is JOBOBJECT_CPU_RATE_CONTROL_INFORMATION with a hard cap: hundredths of a percent of
// all processors.
type cpuRate struct{ flags, rate uint32 }

const (
	cpuRateEnable  = 0x1
	cpuRateHardCap = 0x4
	cpuRateWhole   = 10000
)

// Create makes a group for a purpose, such as a plugin's name.
//
// # Errors
//
// A limit is out of its bounds, or the system refuses it.
func (t *Tree) Create(purpose string, limits Limits) (_ *Group, err error) {
	wanted, err := limits.list()
	if err != nil || len(wanted) == 0 {
		return &Group{}, err
	}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateJobObject", err)
	}
	g := &Group{job: job, limits: wanted}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("the limits of %s cannot be set: %w", purpose, err), g.Close())
		}
	}()
	var basic windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	flags := &basic.BasicLimitInformation.LimitFlags
	*flags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if limits.Memory > 0 {
		*flags |= windows.JOB_OBJECT_LIMIT_JOB_MEMORY
		basic.JobMemoryLimit = uintptr(limits.Memory)
	}
	if limits.PIDs > 0 {
		*flags |= windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS
		basic.BasicLimitInformation.ActiveProcessLimit = uint32(limits.PIDs) //nolint:gosec // it was checked
	}
	if err := set(job, windows.JobObjectExtendedLimitInformation, &basic); err != nil {
		return nil, err
	}
	if limits.CPU > 0 {
		share := limits.CPU / float64(runtime.NumCPU()) * cpuRateWhole
		rate := cpuRate{cpuRateEnable | cpuRateHardCap, uint32(min(max(share, 1), cpuRateWhole))}
		if err := set(job, windows.JobObjectCpuRateControlInformation, &rate); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func set[T any](job windows.Handle, class uint32, info *T) error {
	_, err := windows.SetInformationJobObject(job, class, uintptr(unsafe.Pointer(info)), uint32(unsafe.Sizeof(*info)))
	return os.NewSyscallError("SetInformationJobObject", err)
}

// Start starts a command in the group: it runs its first instruction there, so that nothing that
// it starts is elsewhere.
func (g *Group) Start(cmd *exec.Cmd) error {
	if g == nil || g.job == 0 {
		return cmd.Start()
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.CreationFlags |= windows.CREATE_SUSPENDED
	if err := cmd.Start(); err != nil {
		return err
	}
	var err error
	if with := cmd.Process.WithHandle(func(process uintptr) {
		err = os.NewSyscallError("AssignProcessToJobObject", windows.AssignProcessToJobObject(g.job, windows.Handle(process)))
	}); with != nil {
		err = with
	}
	if err == nil {
		err = resume(uint32(cmd.Process.Pid)) //nolint:gosec // it is one
	}
	if err != nil {
		return errors.Join(err, cmd.Process.Kill(), ignoreExit(cmd.Wait()))
	}
	return nil
}

// ignoreExit leaves out that a process that was killed has failed.
func ignoreExit(err error) error {
	if _, exited := errors.AsType[*exec.ExitError](err); exited {
		return nil
	}
	return err
}

// resume lets the one thread run that a suspended process has.
func resume(pid uint32) error {
	all, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return os.NewSyscallError("CreateToolhelp32Snapshot", err)
	}
	defer func() { _ = windows.CloseHandle(all) }()
	t := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(all, &t); err == nil; err = windows.Thread32Next(all, &t) {
		if t.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, t.ThreadID)
		if err != nil {
			return os.NewSyscallError("OpenThread", err)
		}
		_, err = windows.ResumeThread(thread)
		return errors.Join(os.NewSyscallError("ResumeThread", err), windows.CloseHandle(thread))
	}
	return os.NewSyscallError("Thread32Next", err)
}

// Sweep has nothing to do: a job ends with the process that made it.
func (t *Tree) Sweep(context.Context) {}

// Procs is empty: see [Group.Start].
func (g *Group) Procs() []string { return nil }

// Enforces returns the limits that hold.
func (g *Group) Enforces() []Limit { return g.limits }

// Exceeded is not known here: at its limit of memory, a process gets no more.
func (g *Group) Exceeded() Exceeded { return Exceeded{} }

// Kill ends all processes of the group.
func (g *Group) Kill() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job == 0 {
		return nil
	}
	return os.NewSyscallError("TerminateJobObject", windows.TerminateJobObject(g.job, 1))
}

// Close ends what is left of the group, and the group.
func (g *Group) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job == 0 {
		return nil
	}
	err := windows.CloseHandle(g.job)
	g.job = 0
	return os.NewSyscallError("CloseHandle", err)
}
