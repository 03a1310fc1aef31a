#include "textflag.h"

// The stage, see image_linux.go. It is copied from here, and is never called. What it
// finds on its stack is what the kernel gives to each program: argc, argv, nil,
// environment, nil.
TEXT stage<>(SB), NOSPLIT|NOFRAME, $0-0
	MOVL $0x500000, R13 // the header
	MOVQ 0(SP), AX
	LEAQ 8(SP), CX
	MOVQ 16(R13), DX
	MOVQ CX, 0(DX)      // argv
	LEAQ 16(SP)(AX*8), CX
	MOVQ 24(R13), DX
	MOVQ CX, 0(DX)      // environment
	MOVQ 8(R13), R14    // the step

next:
	MOVQ 0(R14), AX
	MOVQ 8(R14), DI
	MOVQ 16(R14), SI
	MOVQ 24(R14), DX
	MOVQ 32(R14), R10
	MOVQ 40(R14), R8
	MOVQ 48(R14), R9
	SYSCALL
	CMPQ AX, $-4095
	JCC  failed
	ADDQ $64, R14
	JMP  next

failed:
	MOVQ  56(R14), CX
	TESTQ CX, CX
	JEQ   ends
	SHLQ  $6, CX
	ADDQ  CX, R14
	JMP   next

ends:
	// write(header.report, {-errno, address of the step}, 8)
	MOVL AX, 0(SP)
	MOVL R14, 4(SP)
	MOVL 0(R13), DI
	MOVQ SP, SI
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
