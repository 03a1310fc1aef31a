package sealed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// memoryFile makes an empty file without a name that can be sealed and run.
//
// Since Linux 6.3 a memory file can be made without permission to be run, and the setting
// vm.memfd_noexec makes that the default (1) or the rule (2). MFD_EXEC asks for the
// permission; older kernels do not know it, and grant it to each file.
func memoryFile(name string) (*os.File, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	name = name[:min(len(name), 200)] // 249 is the most
	fd, err := unix.MemfdCreate(name, flags|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate(name, flags)
	}
	if err != nil {
		return nil, fmt.Errorf("no memory file can be made for it: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if err := unix.Access(descriptorPath(f), unix.X_OK); err != nil {
		return nil, errors.Join(fmt.Errorf("no memory file can be run: %w", err), f.Close())
	}
	return f, nil
}

// seal makes every change impossible, for all who have the file open (fcntl(2), "File
// sealing"), and returns it opened for reading.
func seal(f *os.File) (*os.File, error) {
	const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return nil, fmt.Errorf("the memory file cannot be sealed: %w", err)
	}
	held, err := os.Open(descriptorPath(f))
	if err != nil {
		return nil, fmt.Errorf("the memory file cannot be opened: %w", err)
	}
	return held, nil
}

// patience bounds awaitWriters, and pace is how often it looks.
const (
	patience = 5 * time.Second
	pace     = time.Millisecond
)

// awaitWriters returns when no process has a file open for writing, since it cannot be run
// before (ETXTBSY). This process has closed it, but a process that another goroutine was
// starting at that moment has all descriptors until it runs its program. Holding
// syscall.ForkLock is not enough, as the kernel closes them a little after the parent goes
// on. The kernel grants a read lease only if there is no writer (fcntl(2), "Leases"). Memory
// files do not need this: their maker does not count as a writer.
func awaitWriters(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // and with it the lease
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(pace) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		// Some file systems have no leases; the file is run as it is.
		if _, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK); !errors.Is(err, unix.EAGAIN) {
			return nil
		}
	}
	return fmt.Errorf("the copy %s is open for writing: %w", path, err)
}

func descriptorPath(f *os.File) string {
	return "/proc/self/fd/" + strconv.FormatUint(uint64(f.Fd()), 10)
}
