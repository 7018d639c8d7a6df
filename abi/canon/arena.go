package canon

import "context"

// ArenaExport is a function () -> i32 that a module may export to get parameters without a call of
// cabi_realloc for each. It returns the address, a multiple of 4, of two numbers of 32 bits: the
// begin and the end of free memory. The host calls it once, before its first call. It rounds the begin up to a multiple of 8,
// writes there, and then moves the begin behind the written data. Without enough room it calls cabi_realloc. The module owns what
// the host wrote, as if cabi_realloc had allocated it, but lists of bytes with the same contents may be one.
//
// Such a module frees a result when its next export is called. Its cabi_post functions are not
// called.
const ArenaExport = "husk_arena"

var arenaSignature = Signature{Results: []ValueType{I32}}

const (
	arenaAlign = 8
	// leastShared is the length in bytes from which on equal bytes are shared.
	leastShared = 64
)

// An ArenaInstance is an Instance whose module may have an arena.
type ArenaInstance interface {
	Instance
	// Arena calls the [ArenaExport]. ok is false if there is none.
	Arena(ctx context.Context) (address uint32, ok bool, err error)
}

type arena struct {
	instance ArenaInstance // nil where there can be none
	KnownArena
}

// KnownArena is the arena that an instance has reported. It also holds for an instance that begins with a copy of its memory.
type KnownArena struct {
	asked, offered bool
	address        uint32
}

// Arena returns the arena that the instance has reported.
func (g *Guest) Arena() KnownArena { return g.arena.KnownArena }

// BeginWith takes over what the instance said whose memory this one begins with.
func (g *Guest) BeginWith(known KnownArena) { g.arena.KnownArena = known }

// findArena asks for the arena, once.
func (g *Guest) findArena(ctx context.Context) error {
	a := &g.arena
	if a.asked || a.instance == nil {
		return nil
	}
	a.asked = true
	var err error
	if a.address, a.offered, err = a.instance.Arena(ctx); err != nil {
		g.breakWith(err)
	}
	return err
}

// arenaRoom is the free part of a module's arena while the module does not run.
type arenaRoom struct {
	// head is the module's two numbers, nil before the first look.
	head []byte
	// free is the free memory, and next its address.
	free []byte
	next uint32
}

// room reads the arena. The module's numbers are not trusted: wrong ones harm only its own memory.
func (a *arena) room(memory LinearMemory) (r arenaRoom) {
	head, ok := memory.Read(a.address, 8)
	if !ok {
		return r
	}
	r.head = head
	begin, end := uint64(u32(head)), u32(head[4:])
	begin = (begin + arenaAlign - 1) &^ (arenaAlign - 1)
	if begin == 0 || begin >= uint64(end) {
		return r
	}
	r.next = uint32(begin)
	r.free, _ = memory.Read(r.next, end-r.next)
	return r
}

// place is Store for the arena. ok is false without an arena or room.
func (e *exportFrame) place(data []byte) (ptr uint32, ok bool) {
	if !e.guest.arena.offered {
		return 0, false
	}
	for i := range e.shared {
		if s := &e.shared[i]; string(s.data) == string(data) {
			return s.ptr, true
		}
	}
	r := &e.room
	if r.head == nil {
		*r = e.guest.arena.room(e.linear())
	}
	n := len(data)
	if n > len(r.free) {
		return 0, false
	}
	ptr = r.next
	copy(r.free, data)
	putU32(r.head, ptr+uint32(n))
	taken := min((n+arenaAlign-1)&^(arenaAlign-1), len(r.free))
	r.free, r.next = r.free[taken:], ptr+uint32(taken)
	if n >= leastShared {
		e.shared = append(e.shared, sharedBytes{data, ptr})
	}
	return ptr, true
}

// sharedBytes are bytes that a call has placed.
type sharedBytes struct {
	data []byte
	ptr  uint32
}
