package stage

import "debug/elf"

const machine = elf.EM_X86_64
