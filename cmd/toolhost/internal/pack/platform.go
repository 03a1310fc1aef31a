package pack

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/safefile"
)

// script is what a file is that the system starts by its first line. It may be for any platform.
const script = "a script"

// checkPlatform compares the platform that a file is listed for with what its header says.
func checkPlatform(path, platform string) error {
	found, err := platformsOf(path)
	if err != nil {
		return fmt.Errorf("%s, listed for %s: %w", path, platform, err)
	}
	switch isScript := slices.Contains(found, script); {
	case isScript, slices.Contains(found, platform):
		return nil
	case platform == pluginpackage.AnyPlatform:
		return fmt.Errorf("%s is a program for %s, and listed for %s, which is for scripts", path, strings.Join(found, ", "), platform)
	}
	return fmt.Errorf("%s is a program for %s, and listed for %s: list it for the platform that it was built for", path, strings.Join(found, ", "), platform)
}

// platformsOf returns the platforms that a program may be for by its header, or script.
func platformsOf(path string) ([]string, error) {
	f, _, err := safefile.OpenTarget(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err := buildinfo.Read(f); err == nil {
		set := map[string]string{}
		for _, s := range info.Settings {
			set[s.Key] = s.Value
		}
		if set["GOOS"] != "" && set["GOARCH"] != "" {
			return []string{set["GOOS"] + "/" + set["GOARCH"]}, nil
		}
	}
	head := make([]byte, 8)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	head = head[:n]
	var out []string
	switch {
	case bytes.HasPrefix(head, []byte("#!")):
		return []string{script}, nil
	case bytes.HasPrefix(head, []byte(elf.ELFMAG)):
		out, err = ofELF(f)
	case bytes.HasPrefix(head, []byte("MZ")):
		out, err = ofPE(f)
	default:
		out, err = ofMachO(f)
	}
	if err == nil && len(out) == 0 {
		err = errors.New("its processor or system is not one that Go knows")
	}
	return out, err
}

func ofELF(r io.ReaderAt) ([]string, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("a damaged ELF file: %w", err)
	}
	arch := map[elf.Machine]string{
		elf.EM_X86_64: "amd64", elf.EM_386: "386", elf.EM_AARCH64: "arm64", elf.EM_ARM: "arm", elf.EM_RISCV: "riscv64",
		elf.EM_S390: "s390x", elf.EM_LOONGARCH: "loong64",
	}[f.Machine]
	little := f.Data == elf.ELFDATA2LSB
	switch {
	case f.Machine == elf.EM_PPC64:
		arch = endian("ppc64", "ppc64le", little)
	case f.Machine == elf.EM_MIPS && f.Class == elf.ELFCLASS64:
		arch = endian("mips64", "mips64le", little)
	case f.Machine == elf.EM_MIPS:
		arch = endian("mips", "mipsle", little)
	}
	if arch == "" {
		return nil, nil
	}
	systems, ok := map[elf.OSABI][]string{
		elf.ELFOSABI_FREEBSD: {"freebsd"}, elf.ELFOSABI_NETBSD: {"netbsd"}, elf.ELFOSABI_OPENBSD: {"openbsd"},
		elf.ELFOSABI_SOLARIS: {"solaris", "illumos"},
	}[f.OSABI]
	if !ok { // most leave it open
		systems = []string{"linux", "android", "dragonfly", "freebsd", "netbsd", "openbsd", "solaris", "illumos"}
	}
	for i, system := range systems {
		systems[i] = system + "/" + arch
	}
	return systems, nil
}

func endian(big, small string, little bool) string {
	if little {
		return small
	}
	return big
}

func ofPE(r io.ReaderAt) ([]string, error) {
	f, err := pe.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("a damaged PE file: %w", err)
	}
	arch := map[uint16]string{
		pe.IMAGE_FILE_MACHINE_AMD64: "amd64", pe.IMAGE_FILE_MACHINE_I386: "386", pe.IMAGE_FILE_MACHINE_ARM64: "arm64",
	}[f.Machine]
	if arch == "" {
		return nil, nil
	}
	return []string{"windows/" + arch}, nil
}

func ofMachO(r io.ReaderAt) ([]string, error) {
	archs := map[macho.Cpu]string{macho.CpuAmd64: "amd64", macho.CpuArm64: "arm64", macho.Cpu386: "386"}
	var cpus []macho.Cpu
	if fat, err := macho.NewFatFile(r); err == nil {
		for _, a := range fat.Arches {
			cpus = append(cpus, a.Cpu)
		}
	} else {
		f, err := macho.NewFile(r)
		if err != nil {
			return nil, errors.New("neither a program for a system that Go knows nor a script, which begins with #! and its interpreter")
		}
		cpus = []macho.Cpu{f.Cpu}
	}
	var out []string
	for _, c := range cpus {
		if arch := archs[c]; arch != "" {
			out = append(out, "darwin/"+arch, "ios/"+arch)
		}
	}
	return out, nil
}
