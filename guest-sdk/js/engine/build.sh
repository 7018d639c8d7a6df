#!/bin/sh
# Makes the engine of providers and programs in JavaScript, engine.wasm in the given directory, from the source of QuickJS-ng. It needs Python's pip, network,
# and Go, and a minute. The versions decide every byte of the result, whose digest is in ../engine.sha256.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "$1" && cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pip install --quiet --root-user-action=ignore --target "$work/zig" ziglang==0.17.1
pip download --quiet --no-deps --no-binary :all: -d "$work" quickjs-ng==0.17.0.2
echo "43d2e48272208721a7aaea8e3f02d4b9318f12ef20cc4f5421b59d9a470706ef  $work/quickjs_ng-0.17.0.2.tar.gz" | sha256sum -c --quiet -
tar -xzf "$work/quickjs_ng-0.17.0.2.tar.gz" -C "$work"
cd "$here/../../.." && go run ./abi/internal/witgen . "$work/contract.h" provider program
cd "$work/quickjs_ng-0.17.0.2/upstream-quickjs"
cp "$here/engine.c" "$here/layout.h" "$here/hash.zig" "$work/contract.h" .
export PYTHONPATH="$work/zig" ZIG_GLOBAL_CACHE_DIR="$work/cache" ZIG_LOCAL_CACHE_DIR="$work/cache"
python3 -m ziglang build-obj -target wasm32-wasi -O ReleaseSmall -fstrip hash.zig
python3 -m ziglang cc -target wasm32-wasi -mexec-model=reactor -O2 -DNDEBUG -D_GNU_SOURCE -D_WASI_EMULATED_SIGNAL \
	-D_WASI_EMULATED_PROCESS_CLOCKS -Dgettimeofday=husk_gettimeofday -Dclock_gettime=husk_clock_gettime -I. engine.c quickjs.c libregexp.c libunicode.c dtoa.c hash.o \
	-o "$work/engine.wasm" -Wl,-z,stack-size=2097152 -s -lwasi-emulated-signal -lwasi-emulated-process-clocks
(cd "$work" && sha256sum -c --quiet "$here/../engine.sha256") || echo "the engine is not that of engine.sha256: $(sha256sum <"$work/engine.wasm")" >&2
cp "$work/engine.wasm" "$out/engine.wasm"
