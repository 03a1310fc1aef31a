package doctor

import (
	"bufio"
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/safefile"
)

// fault is why a program does not run.
type fault struct {
	result       Result
	reason, hint string
}

// machines are the architectures of ELF programs, by their names in Go, with those that a
// processor runs, too.
var machines = map[string][]elf.Machine{
	"386": {elf.EM_386}, "amd64": {elf.EM_X86_64, elf.EM_386}, "arm": {elf.EM_ARM}, "arm64": {elf.EM_AARCH64, elf.EM_ARM},
	"loong64": {elf.EM_LOONGARCH}, "ppc64le": {elf.EM_PPC64}, "riscv64": {elf.EM_RISCV}, "s390x": {elf.EM_S390},
}

// programFault returns why the system would not run a file; nil if nothing is known against
// it. It reads only the beginning, and the tables of an ELF file.
func programFault(path string) *fault {
	f, info, err := safefile.Open(path, os.O_RDONLY)
	if err != nil {
		return nil // a program may be unreadable, and run
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, 4)
	n, _ := io.ReadFull(f, head)
	head = head[:n]
	switch {
	case n == 0:
		return &fault{Failed, "the file is empty", "copy it again"}
	case bytes.HasPrefix(head, []byte("#!")):
		return interpreterFault(f)
	case runtime.GOOS == "darwin":
		return nil
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		return elfFault(f, info.Size())
	case bytes.HasPrefix(head, []byte("MZ")):
		return &fault{foreign(), "it is a program for Windows", otherBuild}
	case string(head) == "\xcf\xfa\xed\xfe", string(head) == "\xca\xfe\xba\xbe":
		return &fault{foreign(), "it is a program for macOS", otherBuild}
	}
	return &fault{Failed, "the file is not a program, nor a script that begins with #!",
		"remove it, copy it again, or, if it is not a plugin: chmod -x"}
}

const otherBuild = "install the build for " + runtime.GOOS + "/" + runtime.GOARCH

func elfFault(f *os.File, size int64) *fault {
	program, err := elf.NewFile(io.NewSectionReader(f, 0, size))
	if err != nil {
		return &fault{Failed, "the file is damaged, or half a copy: " + err.Error(), "copy it again"}
	}
	if known, ok := machines[runtime.GOARCH]; ok && !slices.Contains(known, program.Machine) {
		machine := strings.ToLower(strings.TrimPrefix(program.Machine.String(), "EM_"))
		return &fault{foreign(), "it was built for another architecture (" + machine + ")", otherBuild}
	}
	for _, part := range program.Progs {
		switch {
		case part.Type == elf.PT_LOAD && part.Off+part.Filesz > uint64(size): //nolint:gosec // a file's size
			return &fault{Failed, "the file is half a copy", "copy it again"}
		case part.Type == elf.PT_INTERP && part.Filesz < 4096:
			text, _ := io.ReadAll(part.Open())
			loader := string(bytes.TrimRight(text, "\x00"))
			if _, err := os.Stat(loader); loader != "" && errors.Is(err, os.ErrNotExist) {
				return &fault{Failed, "it needs the loader " + loader + ", which does not exist here",
					"install a build for this system's C library, or a static one"}
			}
		}
	}
	return nil
}

// foreign is how bad a program for another system is: the kernel may have been told of an
// emulator for it (binfmt_misc).
func foreign() Result {
	if formats, _ := filepath.Glob("/proc/sys/fs/binfmt_misc/*-*"); len(formats) > 0 {
		return Warning
	}
	return Failed
}

func interpreterFault(f *os.File) *fault {
	if _, err := f.Seek(2, io.SeekStart); err != nil {
		return nil
	}
	line, _ := bufio.NewReader(io.LimitReader(f, 4096)).ReadString('\n')
	words := strings.Fields(line)
	if len(words) == 0 {
		return &fault{Failed, "the script names no interpreter", "begin it with #! and the path of one"}
	}
	if _, err := os.Stat(words[0]); errors.Is(err, os.ErrNotExist) {
		hint := "install it, or correct the first line"
		if strings.HasSuffix(line, "\r\n") {
			hint = "its lines end as on Windows: convert them"
		}
		return &fault{Failed, "its interpreter " + words[0] + " does not exist", hint}
	}
	return nil
}
