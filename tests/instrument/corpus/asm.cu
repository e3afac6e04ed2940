/* Inline assembly is copied verbatim: scopes, labels, comments, several statements on a line. */
extern "C" __global__ void scopes(unsigned *a, unsigned n)
{
	unsigned x;

	asm volatile("{ .reg .pred p; .reg .b64 %%tmp; .reg .b32 %%r1; mov.u64 %%tmp, %1; ld.global.u32 %%r1, [%%tmp+4]; /* } ; */\n\t"
		     "setp.ne.u32 p, %%r1, %2; @p bra $again; @!p ld.global.u32 %0, [%%tmp]; // } exit;\n"
		     "$again: @p st.global.u32 [%%tmp], %%r1; }" : "=r"(x) : "l"(a), "r"(n) : "memory");
	a[2] = x;
	asm volatile("{ .reg .b32 tmp; { .reg .b64 tmp; mov.u64 tmp, %0; red.relaxed.gpu.global.add.u32 [tmp+8], 1; }"
		     " mov.u32 tmp, %1; st.shared.u32 [tmp], tmp; }" : : "l"(a), "r"(n) : "memory");
}
