# Made by "g++ -S -O1 -fcf-protection=none" from this text, so that no C++ compiler is needed:
#
#   #include <exception>
#   namespace std { void __throw_range_error(const char *) __attribute__((noreturn)); }
#   extern "C" int puts(const char *);
#   static __attribute__((noinline)) void sold(int n)
#   {
#   	if (n > 1)
#   		std::__throw_range_error("sold out");
#   }
#   int main()
#   {
#   	for (int i = 0; i < 4; i++)
#   		try {
#   			try {
#   				sold(i);
#   			} catch (const std::exception &) {
#   				throw;
#   			}
#   		} catch (const std::exception &error) {
#   			puts(error.what());
#   		}
#   }
	.text
	.section	.rodata.str1.1,"aMS",@progbits,1
.LC0:
	.string	"sold out"
	.text
	.type	_ZL4soldi, @function
_ZL4soldi:
.LFB89:
	.cfi_startproc
	cmpl	$1, %edi
	jg	.L6
	ret
.L6:
	subq	$8, %rsp
	.cfi_def_cfa_offset 16
	leaq	.LC0(%rip), %rdi
	call	_ZSt19__throw_range_errorPKc@PLT
	.cfi_endproc
.LFE89:
	.size	_ZL4soldi, .-_ZL4soldi
	.globl	main
	.type	main, @function
main:
.LFB90:
	.cfi_startproc
	.cfi_personality 0x9b,DW.ref.__gxx_personality_v0
	.cfi_lsda 0x1b,.LLSDA90
	pushq	%r12
	.cfi_def_cfa_offset 16
	.cfi_offset 12, -16
	pushq	%rbp
	.cfi_def_cfa_offset 24
	.cfi_offset 6, -24
	pushq	%rbx
	.cfi_def_cfa_offset 32
	.cfi_offset 3, -32
	movl	$0, %ebx
	jmp	.L8
.L16:
	movq	%rax, %rdi
	movq	%rdx, %rax
	cmpq	$1, %rdx
	jne	.L11
	call	__cxa_begin_catch@PLT
.LEHB0:
	call	__cxa_rethrow@PLT
.LEHE0:
.L17:
	movq	%rax, %r12
	movq	%rdx, %rbp
	call	__cxa_end_catch@PLT
	movq	%r12, %rdi
	movq	%rbp, %rax
.L11:
	cmpq	$1, %rax
	je	.L13
.LEHB1:
	call	_Unwind_Resume@PLT
.LEHE1:
.L13:
	call	__cxa_begin_catch@PLT
	movq	%rax, %rdi
	movq	(%rax), %rax
	call	*16(%rax)
	movq	%rax, %rdi
.LEHB2:
	call	puts@PLT
.LEHE2:
	call	__cxa_end_catch@PLT
.L14:
	addl	$1, %ebx
	cmpl	$4, %ebx
	je	.L22
.L8:
	movl	%ebx, %edi
.LEHB3:
	call	_ZL4soldi
.LEHE3:
	jmp	.L14
.L18:
	movq	%rax, %rbx
	call	__cxa_end_catch@PLT
	movq	%rbx, %rdi
.LEHB4:
	call	_Unwind_Resume@PLT
.LEHE4:
.L22:
	movl	$0, %eax
	popq	%rbx
	.cfi_def_cfa_offset 24
	popq	%rbp
	.cfi_def_cfa_offset 16
	popq	%r12
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE90:
	.globl	__gxx_personality_v0
	.section	.gcc_except_table,"a",@progbits
	.align 4
.LLSDA90:
	.byte	0xff
	.byte	0x9b
	.uleb128 .LLSDATT90-.LLSDATTD90
.LLSDATTD90:
	.byte	0x1
	.uleb128 .LLSDACSE90-.LLSDACSB90
.LLSDACSB90:
	.uleb128 .LEHB0-.LFB90
	.uleb128 .LEHE0-.LEHB0
	.uleb128 .L17-.LFB90
	.uleb128 0x3
	.uleb128 .LEHB1-.LFB90
	.uleb128 .LEHE1-.LEHB1
	.uleb128 0
	.uleb128 0
	.uleb128 .LEHB2-.LFB90
	.uleb128 .LEHE2-.LEHB2
	.uleb128 .L18-.LFB90
	.uleb128 0
	.uleb128 .LEHB3-.LFB90
	.uleb128 .LEHE3-.LEHB3
	.uleb128 .L16-.LFB90
	.uleb128 0x5
	.uleb128 .LEHB4-.LFB90
	.uleb128 .LEHE4-.LEHB4
	.uleb128 0
	.uleb128 0
.LLSDACSE90:
	.byte	0x1
	.byte	0
	.byte	0
	.byte	0x7d
	.byte	0x1
	.byte	0x7b
	.align 4
	.long	DW.ref._ZTISt9exception-.
.LLSDATT90:
	.text
	.size	main, .-main
	.hidden	DW.ref._ZTISt9exception
	.weak	DW.ref._ZTISt9exception
	.section	.data.rel.local.DW.ref._ZTISt9exception,"awG",@progbits,DW.ref._ZTISt9exception,comdat
	.align 8
	.type	DW.ref._ZTISt9exception, @object
	.size	DW.ref._ZTISt9exception, 8
DW.ref._ZTISt9exception:
	.quad	_ZTISt9exception
	.hidden	DW.ref.__gxx_personality_v0
	.weak	DW.ref.__gxx_personality_v0
	.section	.data.rel.local.DW.ref.__gxx_personality_v0,"awG",@progbits,DW.ref.__gxx_personality_v0,comdat
	.align 8
	.type	DW.ref.__gxx_personality_v0, @object
	.size	DW.ref.__gxx_personality_v0, 8
DW.ref.__gxx_personality_v0:
	.quad	__gxx_personality_v0
	.section	.note.GNU-stack,"",@progbits
