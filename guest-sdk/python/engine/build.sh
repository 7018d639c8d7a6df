#!/bin/sh
# Makes the engine of providers in Python, engine.wasm in the given directory, from the source of CPython. It needs Python 3.13, pip, make, Go, and
# network, and five minutes. CPYTHON names the source if it is here; PYTHON names Python 3.13. The versions decide every byte of the result,
# whose digest is in ../husk_provider/engine.sha256.
set -eu
version=3.13.5
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "$1" && cd "$1" && pwd)
python=
for p in "${PYTHON:-}" python3.13 "$HOME"/.pyenv/versions/3.13.*/bin/python3.13; do
	if [ -n "$p" ] && "$p" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 13))' 2>/dev/null; then python=$(command -v "$p"); fi
done
[ -n "$python" ] || { echo "the engine needs Python 3.13, which compiles the library: name it in PYTHON" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pip install --quiet --root-user-action=ignore --target "$work/zig" ziglang==0.17.1
cp "${CPYTHON:-/dev/null}" "$work/source.tar.xz"
for from in "https://www.python.org/ftp/python/$version/Python-$version.tar.xz" \
	$(apt-get indextargets --format "\$(SITE)/pool/main/p/python3.13/python3.13_$version.orig.tar.xz" 'Created-By: Packages' 2>/dev/null | sort -u); do
	[ -s "$work/source.tar.xz" ] || curl -fsSL --max-time 300 -o "$work/source.tar.xz" "$from" || :
done
echo "93e583f243454e6e9e4588ca2c2662206ad961659863277afcdb96801647d640  $work/source.tar.xz" | sha256sum -c --quiet -
tar -xJf "$work/source.tar.xz" -C "$work"
cd "$here/../../.." && go run ./abi/internal/witgen . "$work/contract.h" provider
mkdir "$work/bin" "$work/build" && cd "$work/build"
zig=$work/zig/ziglang/zig
printf '#!/bin/sh\nexec %s cc -target wasm32-wasi "$@"\n' "$zig" >"$work/bin/cc"
for tool in ar ranlib; do printf '#!/bin/sh\nexec %s %s "$@"\n' "$zig" "$tool" >"$work/bin/$tool"; done
chmod +x "$work"/bin/*
export ZIG_GLOBAL_CACHE_DIR="$work/cache" ZIG_LOCAL_CACHE_DIR="$work/cache" SOURCE_DATE_EPOCH=1
source=../Python-$version
# The C library declares functions of Linux that it does not have.
CONFIG_SITE="$source/Tools/wasm/config.site-wasm32-wasi" "$source/configure" --host=wasm32-unknown-wasip1 --build="$("$source/config.guess")" \
	--with-build-python="$python" --disable-test-modules --without-ensurepip --prefix=/husk CC="$work/bin/cc" AR="$work/bin/ar" RANLIB="$work/bin/ranlib" \
	READELF=true PKG_CONFIG=false ac_cv_func_epoll_create=no ac_cv_func_epoll_create1=no ac_cv_func_setgroups=no ac_cv_func_timerfd_create=no \
	ac_cv_header_libintl_h=no ac_cv_header_sys_epoll_h=no >configure.log 2>&1 || { tail -20 configure.log; exit 1; }
printf '*disabled*\n%s\n' "_codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw _interpchannels _interpqueues _interpreters _lsprof \
_multibytecodec _posixsubprocess _socket" >Modules/Setup.local
make -j"$(nproc)" libpython3.13.a OPT="-DNDEBUG -O2 -Wno-date-time" >make.log 2>&1 || { grep -A3 error: make.log; exit 1; }
"$python" "$here/library.py" "$source/Lib" "$here" library.bin
cp "$here/engine.c" "$here/../../js/engine/layout.h" "$work/contract.h" .
"$work/bin/cc" -std=c23 -O2 -DNDEBUG -D_WASI_EMULATED_SIGNAL -D_WASI_EMULATED_GETPID -D_WASI_EMULATED_PROCESS_CLOCKS -I. -I"$source/Include" -c engine.c
# The engine's functions come first: those of the same name in the C library are left out then.
"$work/bin/cc" -mexec-model=reactor engine.o libpython3.13.a Modules/_decimal/libmpdec/libmpdec.a Modules/_hacl/libHacl_Hash_SHA2.a \
	Modules/expat/libexpat.a -lm -lwasi-emulated-signal -lwasi-emulated-getpid -Wl,-z,stack-size=4194304 -s -o "$work/engine.wasm"
(cd "$work" && sha256sum -c --quiet "$here/../husk_provider/engine.sha256") || echo "the engine is not that of engine.sha256: $(sha256sum <"$work/engine.wasm")" >&2
cp "$work/engine.wasm" "$out/engine.wasm"
