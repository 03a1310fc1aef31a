package plugin

import "debug/elf"

const stageMachine = elf.EM_X86_64
