package property

// flag is set once. A guest has one thread, and an atomic flag would take two calls.
type flag bool

func (f *flag) set()        { *f = true }
func (f *flag) isSet() bool { return bool(*f) }

// ready reports whether the entries are there.
func (o *object) ready() bool { return o.entries != nil }
