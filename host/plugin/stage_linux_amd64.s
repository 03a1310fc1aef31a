#include "textflag.h"

// The stage, see stage_linux.go. It is copied from here, and is never called. What it
// finds on its stack is what the kernel gives to each program: argc, argv, nil,
// environment, nil.
TEXT stage<>(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ SP, R12
	MOVL $0x4000B0, R13 // the order
	MOVL $1, BX         // the step

	// close_range(order.keep, -1, CLOSE_RANGE_CLOEXEC)
	MOVL 16(R13), DI
	MOVL $-1, SI
	MOVL $4, DX
	MOVL $436, AX
	SYSCALL
	TESTL AX, AX
	JNE  failed
	INCL BX

	// chdir(argv[0])
	MOVQ 8(R12), DI
	MOVL $80, AX
	SYSCALL
	TESTL AX, AX
	JNE  failed
	INCL BX

	// prlimit64(0, RLIMIT_NPROC, &order.limit, nil)
	XORL DI, DI
	MOVL $6, SI
	MOVQ R13, DX
	XORL R10, R10
	MOVL $302, AX
	SYSCALL
	TESTL AX, AX
	JNE  failed
	INCL BX

	// execve(argv[1], argv+2, environment)
	MOVQ 16(R12), DI
	LEAQ 24(R12), SI
	MOVQ 0(R12), AX
	LEAQ 16(R12)(AX*8), DX
	MOVL $59, AX
	SYSCALL

failed:
	// write(order.keep, {-errno, step}, 8)
	MOVL AX, 0(R12)
	MOVL BX, 4(R12)
	MOVL 16(R13), DI
	MOVQ R12, SI
	MOVL $8, DX
	MOVL $1, AX
	SYSCALL

	// exit_group(127)
	MOVL $127, DI
	MOVL $231, AX
	SYSCALL
	INT $3

// func stageText() unsafe.Pointer
TEXT ·stageText(SB), NOSPLIT, $0-8
	LEAQ stage<>(SB), AX
	MOVQ AX, ret+0(FP)
	RET
