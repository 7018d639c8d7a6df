package intake

import (
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"sync"
)

// Budget is the memory that all that is received, decoded, and sent at once may take. It is safe for concurrent use.
type Budget struct {
	most int64

	mu   sync.Mutex
	held int64
	// peak is the most that was held since it was asked for.
	peak int64
	of   map[string]int64
}

// parts is in how many a budget is divided: one of them is left when somebody has taken all others.
const parts = 4

// NewBudget returns one of so many bytes.
func NewBudget(most int64) *Budget { return &Budget{most: most, of: make(map[string]int64)} }

// ProcessBudget returns one that a process can have: half of its memory, if the runtime has a limit for that.
func ProcessBudget() *Budget {
	const unlimited, part = 2 << 30, 2
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return NewBudget(unlimited)
	}
	return NewBudget(limit / part)
}

// FullError says that memory is used up, and that it is free again when others are done, unless Never is set: it would be more
// than there is for one.
type FullError struct {
	Held, Most int64
	Never      bool
}

func (e *FullError) Error() string {
	if e.Never {
		return fmt.Sprintf("it takes %d MiB, and there are at most %d MiB for what one team sends and gets", e.Held>>20, e.Most>>20)
	}
	return fmt.Sprintf("requests and answers use %d MiB, and at most %d MiB are allowed: try again", e.Held>>20, e.Most>>20)
}

// Held is memory that one request has. It is given back once. It is for one goroutine at a time.
type Held struct {
	budget *Budget
	who    string
	bytes  int64
}

// Hold returns the empty account of somebody's request.
func (b *Budget) Hold(who string) *Held { return &Held{budget: b, who: who} }

// Add takes more memory, before it is allocated. The error is a [FullError].
func (h *Held) Add(bytes int64) error {
	b := h.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	share := b.most / parts * (parts - 1)
	switch {
	case h.bytes+bytes > share:
		return &FullError{h.bytes + bytes, share, true}
	case b.held+bytes > b.most:
		return &FullError{b.held, b.most, false}
	case b.of[h.who]+bytes > share:
		return &FullError{b.of[h.who], share, false}
	}
	h.bytes += bytes
	b.held += bytes
	b.peak = max(b.peak, b.held)
	b.of[h.who] += bytes
	return nil
}

// add is Add for memory that need not be held.
func (h *Held) add(bytes int64) error {
	if h == nil {
		return nil
	}
	return h.Add(bytes)
}

// Give gives some of the memory back.
func (h *Held) Give(bytes int64) {
	b := h.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	bytes = min(bytes, h.bytes)
	h.bytes -= bytes
	b.held -= bytes
	if b.of[h.who] -= bytes; b.of[h.who] == 0 {
		delete(b.of, h.who)
	}
}

// End gives all of it back.
func (h *Held) End() { h.Give(h.bytes) }

// Bytes returns how many it has.
func (h *Held) Bytes() int64 { return h.bytes }

// Most returns how many bytes the budget has.
func (b *Budget) Most() int64 { return b.most }

// InUse returns how many bytes of the budget are held.
func (b *Budget) InUse() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// Peak returns the most bytes that were held at once since the last call.
func (b *Budget) Peak() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	is := b.peak
	b.peak = b.held
	return is
}

// ReadAll reads a body, of so many bytes if that is known and not negative. Bytes that have not arrived take no memory.
func (h *Held) ReadAll(body io.Reader, size int64) ([]byte, error) {
	const first, serious = 32 << 10, 1 << 20
	next := int64(first)
	if size >= 0 {
		next = min(next, size+1) // one more finds the end
	}
	var content []byte
	for {
		if err := h.Add(next); err != nil {
			return nil, err
		}
		grown := make([]byte, len(content), next)
		copy(grown, content)
		h.Give(int64(cap(content)))
		content = grown
		for len(content) < cap(content) {
			n, err := body.Read(content[len(content):cap(content)])
			content = content[:len(content)+n]
			if err == io.EOF {
				return content, nil
			}
			if err != nil {
				return content, err
			}
		}
		next *= 2
		if size >= int64(len(content)) {
			next = min(next, size+1)
			if len(content) >= serious {
				next = size + 1 // it is really coming
			}
		}
	}
}
