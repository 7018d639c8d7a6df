#!/bin/sh
# Makes ../core from the source of QuickJS-ng. It needs Python's pip, network, and Go, and a few minutes.
# The versions decide every byte of the result.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pip install --quiet --target "$work/zig" ziglang==0.17.1
pip download --quiet --no-deps --no-binary :all: -d "$work" quickjs-ng==0.17.0.2
echo "43d2e48272208721a7aaea8e3f02d4b9318f12ef20cc4f5421b59d9a470706ef  $work/quickjs_ng-0.17.0.2.tar.gz" | sha256sum -c -
tar -xzf "$work/quickjs_ng-0.17.0.2.tar.gz" -C "$work"
cd "$work/quickjs_ng-0.17.0.2/upstream-quickjs"
cp "$here/engine.c" .
PYTHONPATH="$work/zig" ZIG_GLOBAL_CACHE_DIR="$work/cache" python3 -m ziglang cc -target wasm32-wasi -mexec-model=reactor \
	-Os -DNDEBUG -D_GNU_SOURCE -D_WASI_EMULATED_SIGNAL -D_WASI_EMULATED_PROCESS_CLOCKS -I. \
	engine.c quickjs.c libregexp.c libunicode.c dtoa.c -o "$work/engine.wasm" \
	-Wl,-z,stack-size=2097152 -Wl,--max-memory=100663296 -s -lwasi-emulated-signal -lwasi-emulated-process-clocks
cd "$here/../core"
go run github.com/ncruces/wasm2go@v0.4.20 -embed -pkg core -o core.go "$work/engine.wasm"
gofmt -w core.go
sed -i.bak '1a\
//lint:file-ignore SA4006 the translator writes values that it does not read' core.go && rm core.go.bak
