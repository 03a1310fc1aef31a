package plugin

import "debug/elf"

const stageMachine = elf.EM_AARCH64
