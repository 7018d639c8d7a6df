// Copies and fills of all lengths, over themselves and beside, as calls and as structs; and memory that
// grows as far as it is let.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
#define SIZE 4096

static unsigned char memory[SIZE];

static unsigned sum(void) {
	unsigned s = 2166136261u;
	for (unsigned i = 0; i < SIZE; i++) s = (s ^ memory[i]) * 16777619u;
	return s;
}

static void scramble(unsigned seed) {
	for (unsigned i = 0; i < SIZE; i++) memory[i] = (unsigned char)((seed = seed * 1664525u + 1013904223u) >> 24);
}

#define STRUCT(n) struct s##n { unsigned char bytes[n]; }; \
	static void NOINLINE copy##n(struct s##n *to, const struct s##n *from) { *to = *from; } \
	static void NOINLINE fill##n(struct s##n *to) { memset(to, 0x5a, sizeof *to); } \
	static void NOINLINE swap##n(struct s##n *a, struct s##n *b) { struct s##n c = *a; *a = *b; *b = c; }
STRUCT(8) STRUCT(16) STRUCT(17) STRUCT(24) STRUCT(48) STRUCT(63) STRUCT(100) STRUCT(255) STRUCT(256) STRUCT(257) STRUCT(1000)

#define EACH(n) \
	scramble(n); copy##n((struct s##n *)(memory + 100), (struct s##n *)(memory + 1500)); printf("copy " #n " %08x\n", sum()); \
	fill##n((struct s##n *)(memory + 300 + n)); printf("fill " #n " %08x\n", sum()); \
	swap##n((struct s##n *)(memory + 100), (struct s##n *)(memory + 2500)); printf("swap " #n " %08x\n", sum());

int main(void) {
	EACH(8) EACH(16) EACH(17) EACH(24) EACH(48) EACH(63) EACH(100) EACH(255) EACH(256) EACH(257) EACH(1000)
	for (unsigned length = 0; length < 600; length += 1 + length / 20) {
		for (int distance = -33; distance <= 33; distance += 11) {
			scramble(length);
			memmove(memory + 1000 + distance, memory + 1000, length);
			memset(memory + 2000 + distance, distance, length);
			memcpy(memory + 3000, memory + 1990 + distance, length);
			printf("%u %d %08x\n", length, distance, sum());
		}
	}
	// More than there can be, and then as much as is left.
	printf("%d\n", malloc(0xfffffff0u) == NULL);
	unsigned total = 0;
	void *kept[64];
	for (unsigned size = 16; size < 1u << 20 && total < 64; size *= 2) {
		unsigned char *p = malloc(size);
		if (p == NULL) break;
		memset(p, 0xa5, size);
		p[size - 1] = (unsigned char)total;
		kept[total++] = p;
	}
	unsigned check = 0;
	for (unsigned i = 0; i < total; i++) {
		check += ((unsigned char *)kept[i])[(16u << i) - 1];
		free(kept[i]);
	}
	printf("%u %u\n", total, check);
	return (int)(check % 100);
}
