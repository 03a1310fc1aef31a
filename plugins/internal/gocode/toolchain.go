package gocode

// Toolchain returns the programs that the go command starts, with itself, as a plugin declares
// them: compilers for cgo, and git, which go asks about modules and what a build came from.
func Toolchain() []string {
	return []string{"go", "git", "gcc", "g++", "cc", "c++", "clang", "clang++", "as", "ld", "pkg-config"}
}
