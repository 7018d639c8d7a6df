//go:build !wasm

package property

import "sync/atomic"

// flag is set once. Whoever sees it set sees all writes before that.
type flag struct{ is atomic.Bool }

func (f *flag) set()        { f.is.Store(true) }
func (f *flag) isSet() bool { return f.is.Load() }

// ready reports whether the entries are there.
func (o *object) ready() bool { return o.encoded == nil || o.encoded.decoded.isSet() }
