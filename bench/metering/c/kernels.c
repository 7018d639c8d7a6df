// Pieces of work as C compilers make them, for the benchmark of metering. Each export
// takes how much is to be done, and answers a sum, so that nothing can be left out.
//
// kernels.wasm was built of this file by clang (of zig 0.17) with
//
//	-target wasm32-freestanding -O2 -nostdlib -Wl,--no-entry
#define EXPORT(name) __attribute__((export_name(#name))) unsigned name

typedef unsigned char u8;
typedef unsigned u32;

static u32 seed;

static u32 next(void) {
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed;
}

// fibonacci is calls without loops.
static u32 fib(u32 n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
EXPORT(fibonacci)(u32 n) { return fib(n); }

// sieve is short loops over bytes.
static u8 composite[1 << 20];
EXPORT(sieve)(u32 n) {
	u32 count = 0;
	if (n > sizeof composite) n = sizeof composite;
	for (u32 i = 0; i < n; i++) composite[i] = 0;
	for (u32 i = 2; i < n; i++) {
		if (composite[i]) continue;
		count++;
		for (u32 j = i * 2; j < n; j += i) composite[j] = 1;
	}
	return count;
}

// matrix is nested loops over floating-point numbers.
static double a[128][128], b[128][128], c[128][128];
EXPORT(matrix)(u32 n) {
	if (n > 128) n = 128;
	seed = 1;
	for (u32 i = 0; i < n; i++)
		for (u32 j = 0; j < n; j++) {
			a[i][j] = next() % 100;
			b[i][j] = next() % 100;
		}
	double sum = 0;
	for (u32 i = 0; i < n; i++)
		for (u32 j = 0; j < n; j++) {
			double s = 0;
			for (u32 k = 0; k < n; k++) s += a[i][k] * b[k][j];
			c[i][j] = s;
			sum += s;
		}
	return (u32)sum;
}

// sort is branches that nobody can foretell.
static u32 numbers[1 << 18];
static void quicksort(int low, int high) {
	while (low < high) {
		u32 pivot = numbers[(low + high) / 2];
		int i = low, j = high;
		while (i <= j) {
			while (numbers[i] < pivot) i++;
			while (numbers[j] > pivot) j--;
			if (i <= j) {
				u32 t = numbers[i];
				numbers[i++] = numbers[j];
				numbers[j--] = t;
			}
		}
		quicksort(low, j);
		low = i;
	}
}
EXPORT(sort)(u32 n) {
	if (n > 1 << 18) n = 1 << 18;
	seed = 1;
	for (u32 i = 0; i < n; i++) numbers[i] = next();
	quicksort(0, (int)n - 1);
	return numbers[n / 2];
}

// hash is one long body in a loop: CRC-32 by bits and SHA-like mixing of words.
EXPORT(hash)(u32 n) {
	u32 h[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	seed = 1;
	for (u32 i = 0; i < n; i++) {
		u32 w = next(), crc = ~w;
		for (int bit = 0; bit < 32; bit++) crc = (crc >> 1) ^ (0xedb88320u & -(crc & 1));
		for (int k = 0; k < 8; k++) {
			u32 t = h[k] + ((h[(k + 1) & 7] << 7) | (h[(k + 1) & 7] >> 25)) + (crc ^ h[(k + 5) & 7]);
			h[(k + 3) & 7] ^= t;
		}
	}
	return h[0] ^ h[3] ^ h[5];
}
