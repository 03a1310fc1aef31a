package limits_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const (
	taker     plugintest.Mode = "taker"     // has a tool for each thing of which it takes too much
	neighbour plugintest.Mode = "neighbour" // has a tool that does nothing
)

// What the taker takes at most.
const (
	takenMemory      = 6 << 30
	takenProcesses   = 10_000
	takenDescriptors = 100_000
	takenDisk        = 1 << 30
)

type none struct{}

func idle(name string) tool.Tool {
	return pluginsdk.Func(name, "Does nothing.", func(context.Context, none) (string, error) { return "well", nil }, pluginsdk.Safe())
}

func beNeighbour() { pluginsdk.Main(idle("neighbour.rest")) }

func take() {
	all := []tool.Tool{idle("taker.rest")}
	for name, take := range map[string]func(context.Context) error{
		"memory": takeMemory, "threads": takeThreads, "processes": takeProcesses,
		"descriptors": takeDescriptors, "processors": takeProcessors, "disk": takeDisk, "disk-signal": takeDiskBySignal,
	} {
		all = append(all, pluginsdk.Func("taker."+name, "Takes too much.",
			func(ctx context.Context, _ none) (string, error) { return "it has all of it", take(ctx) }, pluginsdk.Safe()))
	}
	pluginsdk.Main(all...)
}

func takeMemory(context.Context) error {
	var kept [][]byte
	for range takenMemory >> 20 {
		piece := make([]byte, 1<<20)
		for i := 0; i < len(piece); i += os.Getpagesize() {
			piece[i] = 1
		}
		kept = append(kept, piece)
	}
	runtime.KeepAlive(kept)
	return nil
}

func takeThreads(ctx context.Context) error {
	has := make(chan struct{})
	for range takenProcesses {
		go func() {
			runtime.LockOSThread()
			has <- struct{}{}
			<-ctx.Done()
		}()
	}
	for range takenProcesses {
		<-has
	}
	return nil
}

func takeProcesses(context.Context) (err error) {
	var all []*os.Process
	defer func() {
		for _, p := range all {
			err = errors.Join(err, p.Kill())
			_, _ = p.Wait()
		}
	}()
	for range takenProcesses {
		p, err := os.StartProcess("/bin/sleep", []string{"sleep", "300"}, &os.ProcAttr{})
		if err != nil {
			return fmt.Errorf("after %d: %w", len(all), err)
		}
		all = append(all, p)
	}
	return nil
}

func takeDescriptors(context.Context) error {
	var all []int
	defer func() {
		for _, fd := range all {
			_ = unix.Close(fd)
		}
	}()
	for range takenDescriptors {
		fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("after %d: %w", len(all), err)
		}
		all = append(all, fd)
	}
	return nil
}

// takeProcessors computes on all processors until the call ends.
func takeProcessors(ctx context.Context) error {
	runtime.GOMAXPROCS(runtime.NumCPU() + 1) // one is for the call's end
	for range runtime.NumCPU() {
		go func() {
			for ctx.Err() == nil {
				for range 1_000_000 { // it is to use the processor
				}
			}
		}()
	}
	tool.Report(ctx, tool.Progress{Message: "computing"})
	<-ctx.Done()
	return nil
}

func takeDisk(context.Context) error {
	f, err := os.Create("large")
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	for piece := bytes.Repeat([]byte{1}, 1<<20); err == nil; {
		var info os.FileInfo
		if _, err = f.Write(piece); err == nil {
			if info, err = f.Stat(); err == nil && info.Size() >= takenDisk {
				return nil
			}
		}
	}
	return err
}

// takeDiskBySignal does so as a program that leaves the signal (SIGXFSZ) as it is, which Go's do not.
func takeDiskBySignal(ctx context.Context) error {
	action := [4]uint64{} // SIG_DFL
	if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGXFSZ), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0); errno != 0 {
		return errno
	}
	return takeDisk(ctx)
}
