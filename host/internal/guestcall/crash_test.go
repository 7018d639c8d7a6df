package guestcall

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestACrashNamesPlacesByTheModulesDWARF(t *testing.T) {
	trap := Trapped(errors.New("wasm error: unreachable\nwasm stack trace:\n" +
		"\t.rust_panic(i32,i32)\n" +
		"\t\t0x3a1b: /rustc/9fc6b4/library/std/src/panicking.rs:856:9\n" +
		"\t.acme::create(i32) i32\n" +
		"\t\t0x12f: /home/ann/acme/src/shelf.rs:41:12 (inlined)\n" +
		"\t\t       /home/ann/acme/src/create.rs:7:3\n" +
		"\t.main()"))
	require.Equal(t, "unreachable\n"+
		"  at rust_panic (panicking.rs:856)\n"+
		"  at acme::create (shelf.rs:41)\n"+
		"  at main", Crash(trap, ""))
	require.Equal(t, "thread '<unnamed>' (1) panicked at src/lib.rs:72:9:\n| no such mood",
		Crash(trap, "thread '<unnamed>' (1) panicked at src/lib.rs:72:9:\nno such mood\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace"))
}

func TestFramesAreThoseOfTheAuthor(t *testing.T) {
	require.Equal(t, "\n  at main.(*box).pick (greeting.go:41)\n  at main.Greeting.Create (greeting.go:31)", Frames(
		"panic: index out of range\n"+
			"goroutine 1 [running]:\n"+
			"github.com/husk-dev/husk/guest-sdk/internal/bindings.recovered({0x27540, 0x218070})\n"+
			"\tgithub.com/husk-dev/husk@v0.0.0/guest-sdk/internal/bindings/serve.go:79 +0x4\n"+
			"panic({0x27540, 0x218070})\n"+
			"\truntime/panic.go:860 +0x1c\n"+
			"main.(*box).pick(...)\n"+
			"\texample.com/greet/greeting.go:41\n"+
			"main.Greeting.Create(...)\n"+
			"\texample.com/greet/greeting.go:31\n"+
			"github.com/husk-dev/husk/guest-sdk/guest.(*typed[...]).create(0x5f5a0)\n"+
			"\tgithub.com/husk-dev/husk@v0.0.0/guest-sdk/guest/typed.go:68 +0x12"))
	require.Empty(t, Frames("panic: without a stack"))
}
