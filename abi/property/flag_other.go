//go:build !wasm

package property

import "sync/atomic"

// flag is set once, and tells by that that all is there that was written before.
type flag struct{ is atomic.Bool }

func (f *flag) set()        { f.is.Store(true) }
func (f *flag) isSet() bool { return f.is.Load() }

// ready reports whether the entries are there.
func (o *object) ready() bool { return o.encoded == nil || o.encoded.decoded.isSet() }
