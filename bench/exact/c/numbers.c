// Numbers of all kinds, sorted, converted, and printed; and calls through tables.
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static uint64_t state = 88172645463325252ull;

static uint64_t next(void) {
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static int64_t NOINLINE wide(int64_t a, int64_t b, int op) {
	switch (op) {
	case 0: return (int64_t)((uint64_t)a + (uint64_t)b);
	case 1: return (int64_t)((uint64_t)a - (uint64_t)b);
	case 2: return (int64_t)((uint64_t)a * (uint64_t)b);
	case 3: return b == 0 || (a == INT64_MIN && b == -1) ? 0 : a / b;
	case 4: return b == 0 || (a == INT64_MIN && b == -1) ? 0 : a % b;
	case 5: return (int64_t)((uint64_t)a << (b & 63));
	case 6: return a >> (b & 63);
	case 7: return (int64_t)((uint64_t)a >> (b & 63));
	case 8: return (a < b) - (a > b) * 2 + ((uint64_t)a < (uint64_t)b) * 4;
	case 9: return __builtin_popcountll((uint64_t)a) + (a ? __builtin_clzll((uint64_t)a) : 64) + (b ? __builtin_ctzll((uint64_t)b) : 64);
	case 10: return (int64_t)(int32_t)a * (int8_t)b + (int16_t)b;
	default: return a ^ b;
	}
}

static double NOINLINE real(double a, double b, int op) {
	switch (op) {
	case 0: return a + b;
	case 1: return a * b;
	case 2: return b != 0 ? a / b : 0;
	case 3: return sqrt(fabs(a)) + floor(b) - ceil(a) + trunc(b);
	case 4: return fmin(a, b) - fmax(a, b) + copysign(1, a);
	case 5: return (float)a * (float)b;
	case 6: return sin(a) + exp(-fabs(b) / 1e6) + log1p(fabs(a));
	default: return (double)(int64_t)a + (double)(uint32_t)fabs(fmod(b, 1e9));
	}
}

static int ascending(const void *a, const void *b) {
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static int descending(const void *a, const void *b) { return -ascending(a, b); }

static int by_digits(const void *a, const void *b) {
	char x[32], y[32];
	snprintf(x, sizeof x, "%" PRId64, *(const int64_t *)a);
	snprintf(y, sizeof y, "%" PRId64, *(const int64_t *)b);
	return strcmp(x, y);
}

static unsigned NOINLINE ackermann(unsigned m, unsigned n) {
	return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

int main(void) {
	int64_t sum = 0;
	for (int i = 0; i < 4000; i++) {
		int64_t a = (int64_t)next() >> (next() & 63), b = (int64_t)next() >> (next() & 63);
		for (int op = 0; op <= 11; op++) sum = (int64_t)((uint64_t)sum * 31 + (uint64_t)wide(a, b, op));
		if (i % 400 == 0) printf("%" PRId64 " %" PRId64 " %" PRId64 "\n", a, b, sum);
	}
	for (int i = 0; i < 200; i++) {
		double a = (double)(int64_t)next() / 1e12, b = (double)(int32_t)next() / 1e3;
		for (int op = 0; op <= 7; op++) printf("%.17g ", real(a, b, op));
		char text[64];
		snprintf(text, sizeof text, "%.*e", (int)(next() % 20), a);
		printf("%s %.10g\n", text, strtod(text, NULL) - a);
	}
	int (*const orders[])(const void *, const void *) = {ascending, descending, by_digits};
	for (unsigned o = 0; o < 3; o++) {
		int64_t numbers[300];
		for (int i = 0; i < 300; i++) numbers[i] = (int64_t)next() >> (next() & 63);
		qsort(numbers, 300, sizeof *numbers, orders[o]);
		for (int i = 0; i < 300; i += 37) printf("%" PRId64 " ", numbers[i]);
		printf("\n");
	}
	printf("%u %u\n", ackermann(2, 300), ackermann(3, 5));
	return 7;
}
