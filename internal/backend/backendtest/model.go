package backendtest

type opKind string

const (
	opLease      opKind = "lease"
	opAppend     opKind = "append"
	opCheckpoint opKind = "checkpoint"
	opBreak      opKind = "break"
	opLoad       opKind = "load"
	opRelease    opKind = "release"
	// opExpire has the lease end for others than its holder.
	opExpire opKind = "expire"
	// opLost has a writer told that it has lost its lease.
	opLost opKind = "lost"
	// opExit is the end of the process of a writer, with which its lease ends.
	opExit opKind = "exit"
)

type input struct {
	kind opKind
	// writer is who takes a lease, or whose process ends.
	writer int
	token  uint64
	// value is the appended value, and length the number of values before.
	value  string
	length int
}

type resultKind string

const (
	resultDone    resultKind = "done"
	resultLocked  resultKind = "locked"
	resultFenced  resultKind = "fenced"
	resultFull    resultKind = "full"
	resultUnknown resultKind = "unknown"
	// resultNone is the result of an operation that was not begun.
	resultNone resultKind = "none"
)

type output struct {
	result resultKind
	token  uint64
	log    string
}

// register is the state of the model.
type register struct {
	// holder is the token of the present lease, 0 for none, and last the token of the last one. by is its writer.
	holder, last uint64
	by           int
	log          string
	length       int
	// expired says that another can take the lease.
	expired bool
	// late is a record that a fenced writer has written behind the log: see [Case.Late].
	late string
}

// shown returns the values that a load shows.
func (r register) shown() string { return r.log + r.late }

// appended is the state after a record.
func (r register) appended(value string) register {
	r.log, r.length, r.late = r.log+value+",", r.length+1, ""
	return r
}

// step returns the states that may follow. There are none if the outcome is not possible.
func (c Case) step(r register, i input, o output) (states []register) {
	next, legal := c.next(r, i, o)
	switch o.result {
	case resultFull:
		if i.kind != opLease {
			return []register{r}
		}
		return c.taken(r, next, legal)
	case resultUnknown:
		states = append(states, r)
		if legal {
			states = append(states, next)
		} else if i.kind == opAppend && c.Late {
			states = append(states, c.unconfirmed(r, i)...)
		}
		return states
	case resultFenced:
		switch {
		case i.kind == opLease: // it was lost before the state was loaded
			return c.taken(r, next, legal)
		case i.kind == opAppend:
			if !r.holds(i) {
				states = append(states, r)
			}
			return append(states, c.unconfirmed(r, i)...)
		case i.kind == opLost && r.holds(i):
			if c.Local || !r.expired {
				return nil
			}
			// A request for the lease that came late has taken it, and nobody uses that.
			r.holder, r.last, r.expired = 0, r.last+1, false
			return []register{r}
		case !r.holds(i), i.kind == opCheckpoint && legal: // a checkpoint changes nothing that can be seen
			return []register{r}
		}
	}
	if !legal {
		return nil
	}
	states = append(states, next)
	if i.kind == opCheckpoint && r.late != "" {
		next.late = r.late // the journal is the same if there was no record since the last checkpoint of the lease
		states = append(states, next)
	}
	return states
}

// taken returns the states after a lease that nobody uses. It may have taken another's lease away.
func (c Case) taken(was, next register, legal bool) []register {
	if !legal {
		return []register{was}
	}
	return []register{was, next}
}

// unconfirmed returns the states after a record of a writer that has lost its lease. It may have taken effect before its
// writer was told so, and until the next lease, whose holder reads it. It was not confirmed.
func (c Case) unconfirmed(r register, i input) (states []register) {
	if r.length != i.length {
		return nil
	}
	if r.last == i.token {
		states = append(states, r.appended(i.value))
	}
	if c.Late && r.last > i.token {
		r.late = i.value + ","
		states = append(states, r)
	}
	return states
}

// holds reports whether the lease of an operation lasts.
func (r register) holds(i input) bool { return i.token != 0 && r.holder == i.token }

// next returns the state after an operation, and whether that may have the outcome. An unknown outcome is
// taken for success.
func (c Case) next(r register, i input, o output) (register, bool) {
	holds := r.holds(i)
	switch i.kind {
	case opLease:
		if o.result == resultLocked {
			return r, true // also if another only tried to take it: whoever is refused changes nothing
		}
		if o.result != resultDone {
			o.token = r.last + 1
		}
		taken := register{holder: o.token, last: o.token, by: i.writer, log: r.log, length: r.length, late: r.late}
		return taken, (r.holder == 0 || r.expired) && o.token > r.last
	case opBreak:
		r.holder, r.expired = 0, false
		return r, true
	case opExpire:
		r.expired = r.holder != 0
		return r, true
	case opExit:
		if r.by == i.writer {
			r.holder, r.expired = 0, false
		}
		return r, true
	case opRelease:
		if holds {
			r.holder, r.expired = 0, false
		}
		return r, true
	case opLoad:
		legal := o.result != resultFenced && o.log == r.shown()
		if holds && r.late != "" {
			r.log, r.length, r.late = r.shown(), r.length+1, "" // the holder goes on behind it
		}
		return r, legal
	}
	if !holds || r.length != i.length {
		return r, false
	}
	if i.kind == opAppend {
		r = r.appended(i.value)
	}
	r.late = ""
	r.expired = r.expired && i.kind == opAppend && c.SilentAppends
	return r, true
}
