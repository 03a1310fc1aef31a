#include "textflag.h"

// The stage, see image_linux.go. It is copied from here, and is never called. What it
// finds on its stack is what the kernel gives to each program: argc, argv, nil,
// environment, nil.
TEXT stage<>(SB), NOSPLIT|NOFRAME, $0-0
	MOVD $0x500000, R20 // the header
	MOVD RSP, R19
	MOVD 0(R19), R9
	ADD  $8, R19, R10
	MOVD 16(R20), R11
	MOVD R10, 0(R11)    // argv
	LSL  $3, R9
	ADD  R19, R9
	ADD  $16, R9
	MOVD 24(R20), R11
	MOVD R9, 0(R11)     // environment
	MOVD 8(R20), R21    // the step

next:
	MOVD 0(R21), R8
	MOVD 8(R21), R0
	MOVD 16(R21), R1
	MOVD 24(R21), R2
	MOVD 32(R21), R3
	MOVD 40(R21), R4
	MOVD 48(R21), R5
	SVC
	CMN  $4095, R0
	BHS  failed
	ADD  $64, R21
	JMP  next

failed:
	MOVD 56(R21), R9
	CBZ  R9, ends
	LSL  $6, R9
	ADD  R9, R21
	JMP  next

ends:
	// write(header.report, {-errno, address of the step}, 8)
	MOVW R0, 0(R19)
	MOVW R21, 4(R19)
	MOVD 0(R20), R0
	MOVD R19, R1
	MOVD $8, R2
	MOVD $64, R8
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
