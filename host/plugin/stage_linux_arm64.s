#include "textflag.h"

// The stage, see stage_linux.go. It is copied from here, and is never called. What it
// finds on its stack is what the kernel gives to each program: argc, argv, nil,
// environment, nil.
TEXT stage<>(SB), NOSPLIT|NOFRAME, $0-0
	MOVD RSP, R19
	MOVD $0x4000B0, R20 // the order
	MOVD $1, R21        // the step

	// close_range(order.keep, -1, CLOSE_RANGE_CLOEXEC)
	MOVWU 16(R20), R0
	MOVD  $0xffffffff, R1
	MOVD  $4, R2
	MOVD  $436, R8
	SVC
	CBNZ  R0, failed
	ADD   $1, R21

	// chdir(argv[0])
	MOVD 8(R19), R0
	MOVD $49, R8
	SVC
	CBNZ R0, failed
	ADD  $1, R21

	// prlimit64(0, RLIMIT_NPROC, &order.limit, nil)
	MOVD $0, R0
	MOVD $6, R1
	MOVD R20, R2
	MOVD $0, R3
	MOVD $261, R8
	SVC
	CBNZ R0, failed
	ADD  $1, R21

	// execve(argv[1], argv+2, environment)
	MOVD 16(R19), R0
	ADD  $24, R19, R1
	MOVD 0(R19), R2
	LSL  $3, R2
	ADD  R19, R2
	ADD  $16, R2
	MOVD $221, R8
	SVC

failed:
	// write(order.keep, {-errno, step}, 8)
	MOVW  R0, 0(R19)
	MOVW  R21, 4(R19)
	MOVWU 16(R20), R0
	MOVD  R19, R1
	MOVD  $8, R2
	MOVD  $64, R8
	SVC

	// exit_group(127)
	MOVD $127, R0
	MOVD $94, R8
	SVC
	BRK

// func stageText() unsafe.Pointer
TEXT ·stageText(SB), NOSPLIT, $0-8
	MOVD $stage<>(SB), R0
	MOVD R0, ret+0(FP)
	RET
