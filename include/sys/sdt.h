/* SPDX-License-Identifier: CC0-1.0 */
/*
 * Marks in programs: STAP_PROBE3(provider, name, a, b, c) costs one instruction that does
 * nothing, and leaves a note in the file that tells tracers where it is and where the
 * arguments are. Programs of any licence may include this file.
 *
 * Of one's own choice, defined before this file is included:
 *
 *   _SDT_HAS_SEMAPHORES  each mark has a counter `unsigned short PROVIDER_NAME_semaphore` in
 *                        section .probes, which the program defines (`stapy dtrace -G` does)
 *                        and which is above 0 as long as somebody listens
 *   SDT_USE_VARIADIC     STAP_PROBEV(provider, name, ...) takes up to 12 arguments
 *   STAPY_SDT_NOP5       a nop of five bytes behind that of one byte, for kernels from 6.18 on
 *
 * Arguments are integers, pointers, arrays (their address) and floating point numbers (their
 * bits). A bit field is written +field, for it has no size of its own.
 */
#ifndef _SYS_SDT_H
#define _SYS_SDT_H 1

#define STAP_SDT_V1 1
#define _SDT_NOTE_TYPE 3
#define _SDT_NOTE_NAME "stapsdt"

#ifdef __LP64__
# define _SDT_ADDRESS ".8byte"
#else
# define _SDT_ADDRESS ".4byte"
#endif

#ifdef STAPY_SDT_NOP5
# define _SDT_NOTHING "nop\n\t.byte 0x0f, 0x1f, 0x44, 0x00, 0x00"
#else
# define _SDT_NOTHING "nop"
#endif

#define _SDT_TEXT(x) #x
#define _SDT_STRING(x) _SDT_TEXT(x)

#ifdef _SDT_HAS_SEMAPHORES
# define _SDT_COUNTER(provider, name) #provider "_" #name "_semaphore"
#else
# define _SDT_COUNTER(provider, name) "0"
#endif

/*
 * The note is of the group of the function that it is about ("?"), so that the linker takes
 * both or none. Where the base of all notes lies tells how far prelink has moved the file.
 */
#define _SDT_NOTE(provider, name, arguments)					\
	"990:\t" _SDT_NOTHING "\n"						\
	"\t.pushsection .note.stapsdt,\"?\",\"note\"\n"				\
	"\t.balign 4\n"								\
	"\t.4byte 992f-991f, 994f-993f, " _SDT_STRING(_SDT_NOTE_TYPE) "\n"	\
	"991:\t.asciz \"" _SDT_NOTE_NAME "\"\n"					\
	"992:\t.balign 4\n"							\
	"993:\t" _SDT_ADDRESS " 990b\n"						\
	"\t" _SDT_ADDRESS " _.stapsdt.base\n"					\
	"\t" _SDT_ADDRESS " " _SDT_COUNTER(provider, name) "\n"			\
	"\t.asciz \"" #provider "\"\n"						\
	"\t.asciz \"" #name "\"\n"						\
	"\t.asciz \"" arguments "\"\n"						\
	"994:\t.balign 4\n"							\
	"\t.popsection\n"							\
	"\t.ifndef _.stapsdt.base\n"						\
	"\t.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
	"\t.weak _.stapsdt.base\n"						\
	"\t.hidden _.stapsdt.base\n"						\
	"_.stapsdt.base: .space 1\n"						\
	"\t.size _.stapsdt.base, 1\n"						\
	"\t.popsection\n"							\
	"\t.endif\n"

/* --- arguments: the size, below 0 for what has a sign, and where the value is --- */

/* What a value is as GCC and clang number it: pointers are 5, arrays 5 or 14, integers 1 to 4. */
#define _SDT_CLASS(x) __builtin_classify_type(x)
#define _SDT_IS_POINTER(x) (_SDT_CLASS(x) == 5 || _SDT_CLASS(x) == 14)
#define _SDT_IS_INTEGER(x) (_SDT_CLASS(x) >= 1 && _SDT_CLASS(x) <= 4)

#ifdef __cplusplus
template<typename T, bool is_enum = __is_enum(T)> struct _sdt_type {
	enum { size = sizeof(T) };
};
# define _SDT_SIGNED(T) ((T) -1 < (T) 1 ? -(int) sizeof(T) : (int) sizeof(T))
template<typename T> struct _sdt_type<T, true> {
	enum { size = _SDT_SIGNED(T) };
};
template<typename T, bool e> struct _sdt_type<T &, e> : _sdt_type<T> {
};
template<typename T> struct _sdt_type<const T, false> : _sdt_type<T> {
};
template<typename T> struct _sdt_type<volatile T, false> : _sdt_type<T> {
};
template<typename T> struct _sdt_type<const volatile T, false> : _sdt_type<T> {
};
template<typename T, __SIZE_TYPE__ n> struct _sdt_type<T[n], false> : _sdt_type<void *> {
};
template<typename T, __SIZE_TYPE__ n> struct _sdt_type<const T[n], false> : _sdt_type<void *> {
};
# define _SDT_INTEGER(T) \
	template<> struct _sdt_type<T, false> { enum { size = _SDT_SIGNED(T) }; };
_SDT_INTEGER(bool)
_SDT_INTEGER(char)
_SDT_INTEGER(signed char)
_SDT_INTEGER(unsigned char)
_SDT_INTEGER(wchar_t)
_SDT_INTEGER(short)
_SDT_INTEGER(unsigned short)
_SDT_INTEGER(int)
_SDT_INTEGER(unsigned int)
_SDT_INTEGER(long)
_SDT_INTEGER(unsigned long)
__extension__ _SDT_INTEGER(long long)
__extension__ _SDT_INTEGER(unsigned long long)
# define _SDT_SIZE(x) (_sdt_type<__typeof__(x)>::size)
#else
/* What a value is, as GCC and clang number it: integers 1 to 4, pointers 5, arrays 5 or 14. */
# define _SDT_CLASS(x) __builtin_classify_type(x)
# define _SDT_IS_POINTER(x) (_SDT_CLASS(x) == 5 || _SDT_CLASS(x) == 14)
# define _SDT_IS_INTEGER(x) (_SDT_CLASS(x) >= 1 && _SDT_CLASS(x) <= 4)
# define _SDT_NUMBER(x) __typeof__(__builtin_choose_expr(_SDT_IS_INTEGER(x), (x), 0u))
# define _SDT_IS_SIGNED(x) ((_SDT_NUMBER(x)) -1 < (_SDT_NUMBER(x)) 1)
# define _SDT_SIZE(x) \
	((_SDT_IS_SIGNED(x) ? -1 : 1) * \
	 (int) (_SDT_IS_POINTER(x) ? sizeof(void *) : sizeof(x)))
#endif

#ifndef STAP_SDT_ARG_CONSTRAINT
# define STAP_SDT_ARG_CONSTRAINT nor
#endif

#define _SDT_IN(n, x) \
	[_sdt_size##n] "n" (_SDT_SIZE(x)), [_sdt_at##n] _SDT_STRING(STAP_SDT_ARG_CONSTRAINT) (x)
#define _SDT_OUT(n) "%c[_sdt_size" #n "]@%[_sdt_at" #n "]"

#define _SDT_IN1(a) _SDT_IN(1, a)
#define _SDT_IN2(a, b) _SDT_IN1(a), _SDT_IN(2, b)
#define _SDT_IN3(a, b, c) _SDT_IN2(a, b), _SDT_IN(3, c)
#define _SDT_IN4(a, b, c, d) _SDT_IN3(a, b, c), _SDT_IN(4, d)
#define _SDT_IN5(a, b, c, d, e) _SDT_IN4(a, b, c, d), _SDT_IN(5, e)
#define _SDT_IN6(a, b, c, d, e, f) _SDT_IN5(a, b, c, d, e), _SDT_IN(6, f)
#define _SDT_IN7(a, b, c, d, e, f, g) _SDT_IN6(a, b, c, d, e, f), _SDT_IN(7, g)
#define _SDT_IN8(a, b, c, d, e, f, g, h) _SDT_IN7(a, b, c, d, e, f, g), _SDT_IN(8, h)
#define _SDT_IN9(a, b, c, d, e, f, g, h, i) _SDT_IN8(a, b, c, d, e, f, g, h), _SDT_IN(9, i)
#define _SDT_IN10(a, b, c, d, e, f, g, h, i, j) \
	_SDT_IN9(a, b, c, d, e, f, g, h, i), _SDT_IN(10, j)
#define _SDT_IN11(a, b, c, d, e, f, g, h, i, j, k) \
	_SDT_IN10(a, b, c, d, e, f, g, h, i, j), _SDT_IN(11, k)
#define _SDT_IN12(a, b, c, d, e, f, g, h, i, j, k, l) \
	_SDT_IN11(a, b, c, d, e, f, g, h, i, j, k), _SDT_IN(12, l)

#define _SDT_OUT1 _SDT_OUT(1)
#define _SDT_OUT2 _SDT_OUT1 " " _SDT_OUT(2)
#define _SDT_OUT3 _SDT_OUT2 " " _SDT_OUT(3)
#define _SDT_OUT4 _SDT_OUT3 " " _SDT_OUT(4)
#define _SDT_OUT5 _SDT_OUT4 " " _SDT_OUT(5)
#define _SDT_OUT6 _SDT_OUT5 " " _SDT_OUT(6)
#define _SDT_OUT7 _SDT_OUT6 " " _SDT_OUT(7)
#define _SDT_OUT8 _SDT_OUT7 " " _SDT_OUT(8)
#define _SDT_OUT9 _SDT_OUT8 " " _SDT_OUT(9)
#define _SDT_OUT10 _SDT_OUT9 " " _SDT_OUT(10)
#define _SDT_OUT11 _SDT_OUT10 " " _SDT_OUT(11)
#define _SDT_OUT12 _SDT_OUT11 " " _SDT_OUT(12)

#ifndef __ASSEMBLER__
# define _SDT_MARK(provider, name, arguments, ...) \
	__asm__ __volatile__(_SDT_NOTE(provider, name, arguments) : : __VA_ARGS__)

# define STAP_PROBE(provider, name) \
	do { __asm__ __volatile__(_SDT_NOTE(provider, name, "") : : ); } while (0)
# define STAP_PROBE1(provider, name, a) \
	do { _SDT_MARK(provider, name, _SDT_OUT1, _SDT_IN1(a)); } while (0)
# define STAP_PROBE2(provider, name, a, b) \
	do { _SDT_MARK(provider, name, _SDT_OUT2, _SDT_IN2(a, b)); } while (0)
# define STAP_PROBE3(provider, name, a, b, c) \
	do { _SDT_MARK(provider, name, _SDT_OUT3, _SDT_IN3(a, b, c)); } while (0)
# define STAP_PROBE4(provider, name, a, b, c, d) \
	do { _SDT_MARK(provider, name, _SDT_OUT4, _SDT_IN4(a, b, c, d)); } while (0)
# define STAP_PROBE5(provider, name, a, b, c, d, e) \
	do { _SDT_MARK(provider, name, _SDT_OUT5, _SDT_IN5(a, b, c, d, e)); } while (0)
# define STAP_PROBE6(provider, name, a, b, c, d, e, f) \
	do { _SDT_MARK(provider, name, _SDT_OUT6, _SDT_IN6(a, b, c, d, e, f)); } while (0)
# define STAP_PROBE7(provider, name, a, b, c, d, e, f, g) \
	do { _SDT_MARK(provider, name, _SDT_OUT7, _SDT_IN7(a, b, c, d, e, f, g)); } while (0)
# define STAP_PROBE8(provider, name, a, b, c, d, e, f, g, h) \
	do { _SDT_MARK(provider, name, _SDT_OUT8, _SDT_IN8(a, b, c, d, e, f, g, h)); } while (0)
# define STAP_PROBE9(provider, name, a, b, c, d, e, f, g, h, i) \
	do { \
		_SDT_MARK(provider, name, _SDT_OUT9, _SDT_IN9(a, b, c, d, e, f, g, h, i)); \
	} while (0)
# define STAP_PROBE10(provider, name, a, b, c, d, e, f, g, h, i, j) \
	do { \
		_SDT_MARK(provider, name, _SDT_OUT10, _SDT_IN10(a, b, c, d, e, f, g, h, i, j)); \
	} while (0)
# define STAP_PROBE11(provider, name, a, b, c, d, e, f, g, h, i, j, k) \
	do { \
		_SDT_MARK(provider, name, _SDT_OUT11, \
			  _SDT_IN11(a, b, c, d, e, f, g, h, i, j, k)); \
	} while (0)
# define STAP_PROBE12(provider, name, a, b, c, d, e, f, g, h, i, j, k, l) \
	do { \
		_SDT_MARK(provider, name, _SDT_OUT12, \
			  _SDT_IN12(a, b, c, d, e, f, g, h, i, j, k, l)); \
	} while (0)

# ifdef SDT_USE_VARIADIC
#  define _SDT_COUNT(name, ...) \
	_SDT_COUNTED(name, ##__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, , )
#  define _SDT_COUNTED(name, a, b, c, d, e, f, g, h, i, j, k, l, n, ...) n
#  define _SDT_JOINED(a, b) a##b
#  define _SDT_JOIN(a, b) _SDT_JOINED(a, b)
#  define STAP_PROBEV(provider, name, ...) \
	_SDT_JOIN(STAP_PROBE, _SDT_COUNT(name, ##__VA_ARGS__))(provider, name, ##__VA_ARGS__)
# endif

/*
 * In an asm statement of one's own: STAP_PROBE_ASM(provider, name, STAP_PROBE_ASM_TEMPLATE(2))
 * with STAP_PROBE_ASM_OPERANDS(2, a, b) among its inputs.
 */
# define STAP_PROBE_ASM(provider, name, arguments) _SDT_NOTE(provider, name, arguments)
# define STAP_PROBE_ASM_TEMPLATE(n) _SDT_OUT##n
# define STAP_PROBE_ASM_OPERANDS(n, ...) _SDT_IN##n(__VA_ARGS__)
# define _SDT_OUT0 ""
#endif

/* --- the names that programs written for DTrace use --- */

#define DTRACE_PROBE(provider, name) STAP_PROBE(provider, name)
#define DTRACE_PROBE1(provider, name, a) STAP_PROBE1(provider, name, a)
#define DTRACE_PROBE2(provider, name, a, b) STAP_PROBE2(provider, name, a, b)
#define DTRACE_PROBE3(provider, name, a, b, c) STAP_PROBE3(provider, name, a, b, c)
#define DTRACE_PROBE4(provider, name, a, b, c, d) STAP_PROBE4(provider, name, a, b, c, d)
#define DTRACE_PROBE5(provider, name, a, b, c, d, e) STAP_PROBE5(provider, name, a, b, c, d, e)
#define DTRACE_PROBE6(provider, name, a, b, c, d, e, f) \
	STAP_PROBE6(provider, name, a, b, c, d, e, f)
#define DTRACE_PROBE7(provider, name, a, b, c, d, e, f, g) \
	STAP_PROBE7(provider, name, a, b, c, d, e, f, g)
#define DTRACE_PROBE8(provider, name, a, b, c, d, e, f, g, h) \
	STAP_PROBE8(provider, name, a, b, c, d, e, f, g, h)
#define DTRACE_PROBE9(provider, name, a, b, c, d, e, f, g, h, i) \
	STAP_PROBE9(provider, name, a, b, c, d, e, f, g, h, i)
#define DTRACE_PROBE10(provider, name, a, b, c, d, e, f, g, h, i, j) \
	STAP_PROBE10(provider, name, a, b, c, d, e, f, g, h, i, j)
#define DTRACE_PROBE11(provider, name, a, b, c, d, e, f, g, h, i, j, k) \
	STAP_PROBE11(provider, name, a, b, c, d, e, f, g, h, i, j, k)
#define DTRACE_PROBE12(provider, name, a, b, c, d, e, f, g, h, i, j, k, l) \
	STAP_PROBE12(provider, name, a, b, c, d, e, f, g, h, i, j, k, l)

#endif
