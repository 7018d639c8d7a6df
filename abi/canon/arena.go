package canon

import "context"

// ArenaExport is a function () -> i32 that a module may export, to be given parameters
// without a call of cabi_realloc for each. It answers the address, a multiple of 4, of two
// numbers of 32 bits: where memory begins that nobody uses, and where that ends. The host
// asks once, before its first call, and takes what it needs from the begin: it rounds
// that up to a multiple of 8, writes there, and then sets the begin to where that ends. Where
// there is not enough room it calls cabi_realloc. What lies there belongs to the module, as
// what cabi_realloc allocates does, with one difference: lists of bytes with the same
// contents may be one.
//
// Such a module frees an answer when its next export is called: its cabi_post functions are
// not.
const ArenaExport = "husk_arena"

var arenaSignature = Signature{Results: []ValueType{I32}}

const (
	arenaAlign = 8
	// leastShared is the length of bytes, in bytes, from which on it is looked whether they
	// are there already.
	leastShared = 64
)

// An ArenaInstance is an Instance whose module may have an arena.
type ArenaInstance interface {
	Instance
	// Arena calls the [ArenaExport]; ok is false where there is none.
	Arena(ctx context.Context) (address uint32, ok bool, err error)
}

// arena is what is known of a module's arena.
type arena struct {
	instance ArenaInstance // nil where there can be none
	KnownArena
}

// KnownArena is what an instance has said of its arena, if it was asked. It is as true of an
// instance that begins with its memory.
type KnownArena struct {
	asked, offered bool
	address        uint32
}

// Arena tells what the instance has said of its arena.
func (g *Guest) Arena() KnownArena { return g.arena.KnownArena }

// BeginWith says what another instance has said, with whose memory this one begins.
func (g *Guest) BeginWith(known KnownArena) { g.arena.KnownArena = known }

// findArena asks for the arena, where that was not done.
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

// arenaRoom is what is left of a module's arena while the module does not run.
type arenaRoom struct {
	// head is the module's two numbers, nil until somebody has looked.
	head []byte
	// free is what nobody uses, next its address.
	free []byte
	next uint32
}

// room looks at the arena. What the module says of it is not trusted: it can be wrong about
// memory of its own alone.
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

// place is Store for the arena; ok is false where there is none, or no room.
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
