// State machines whose parameter is the state: a compiler makes of each a loop around a jump table that
// the parameter goes by, as Go's compiler does of all functions. They read the parameter where Go's do
// not: in states, between them, and after the loop.
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

static unsigned seed = 1;

static unsigned NOINLINE next(void) {
	seed = seed * 1664525u + 1013904223u;
	return seed >> 16;
}

// leaves returns the state that it was left in.
static int NOINLINE leaves(int state) {
	for (;;) {
		switch (state) {
		case 0:
			if (next() % 3 == 0) return state;
			state = 1;
			break;
		case 1:
			state = next() % 2 ? 2 : 0;
			break;
		case 2:
			if (next() % 5 == 0) goto out;
			state = 3;
			break;
		case 3:
			printf("%d ", state);
			state = (int)(next() % 5);
			break;
		default:
			goto out;
		}
	}
out:
	return state * 10;
}

// falls goes through several states in one turn.
static int NOINLINE falls(int state) {
	int sum = 0;
	while (sum < 1000) {
		switch (state) {
		case 0: sum += 1;
		case 1: sum += 10; if (next() & 1) { state = 3; continue; }
		case 2: sum += state; break;
		case 3: sum += 100; state = 1; continue;
		case 5: return -sum;
		default: sum += 7;
		}
		state = (int)(next() % 7);
	}
	return sum + state;
}

// inner has a machine inside of another one, both of which go by the parameter.
static int NOINLINE inner(int state) {
	int turns = 0;
	for (;; turns++) {
		switch (state) {
		case 0:
			do {
				switch (state) {
				case 0: state = 2; break;
				case 2: state = 4; break;
				case 4: state = (int)(next() % 3); break;
				default: state = -1;
				}
			} while (state >= 0 && state != 1);
			break;
		case 1: state = turns > 20 ? 9 : 0; break;
		case 9: return turns;
		default: state++;
		}
	}
}

// interprets is the loop of an interpreter.
static int NOINLINE interprets(int at) {
	static const unsigned char code[] = {0, 5, 1, 2, 3, 0, 7, 4, 2, 1, 3, 5, 6, 0, 9, 3, 8};
	int stack[64], top = 0;
	for (int steps = 0; steps < 500 && at >= 0 && at < (int)sizeof code; steps++) {
		switch (code[at++]) {
		case 0: if (top < 60) stack[top++] = code[at]; at++; break;
		case 1: if (top > 0) stack[top - 1] *= 3; break;
		case 2: if (top > 1) { stack[top - 2] += stack[top - 1]; top--; } break;
		case 3: if (top < 60) { stack[top] = top ? stack[top - 1] : 1; top++; } break;
		case 4: at = (int)(next() % sizeof code); break;
		case 5: if (top > 0) printf("[%d]", stack[top - 1]); break;
		case 6: if (next() % 4) at = 2; break;
		case 8: return top ? stack[top - 1] : at;
		default: top = top > 3 ? 3 : top;
		}
	}
	return at;
}

int main(void) {
	for (int turn = 0; turn < 40; turn++) {
		for (int state = -1; state < 8; state++) {
			int (*const machines[])(int) = {leaves, falls, inner, interprets};
			for (unsigned m = 0; m < sizeof machines / sizeof *machines; m++) {
				seed = (unsigned)(turn * 100 + state * 7) + m;
				if (m == 2 && (state > 4 || state < 0)) continue; // would count up for long
				printf("%u(%d)=%d\n", m, state, machines[m](state));
			}
		}
	}
	return 0;
}
