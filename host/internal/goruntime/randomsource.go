// Package goruntime finds the random generators of Go's runtime in memory: instances that begin with the same
// memory must not draw the same numbers.
package goruntime

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/internal/wasm/entropy"
)

// Go's runtime takes a seed when it starts, for all random numbers except crypto/rand's. Its generator is part of memory, so that
// instances of one image would draw the same numbers. The host gave out the seed: it finds the generator in the image, and gives
// each instance another seed. A guest cannot gain by it: the host only writes random bytes, inside of the guest's own memory.

// RandomSource reads the random bytes of an instance, and keeps the facts that an image of it depends on.
type RandomSource struct {
	From io.Reader
	// taken counts reads of the instance, and first is the first one, if it is as long as a seed.
	taken uint64
	first [seedSize]byte
	// seed is the generator's seed when the instance began with an image.
	seed [seedSize]byte
}

func (s *RandomSource) Read(p []byte) (int, error) {
	n, err := io.ReadFull(s.From, p)
	if s.taken++; s.taken == 1 && n == seedSize {
		copy(s.first[:], p)
	}
	return n, err
}

// TakesSeed reports whether so many bytes may be the seed of Go's runtime: the first, and as many.
func (s *RandomSource) TakesSeed(bytes uint64) bool { return s.taken == 0 && bytes == seedSize }

// Generator returns the address of the generator of Go's runtime, 0 if there is none, and how many words the
// instance has drawn. If began is set, the instance began with an image that has it at an address. It is not
// ok if the instance took random bytes otherwise, or the generator is not found.
func (s *RandomSource) Generator(memory []byte, began bool, address uint32) (at uint32, drawn uint64, ok bool) {
	switch {
	case s.taken == 0 && began && address > 0:
		if used, known := stateAt(memory, address).position(s.seed); known {
			return address, used - blockWords, true // Reseed left the first block out
		}
	case s.taken == 0:
		return 0, 0, true
	case s.taken == 1 && !began:
		if at, drawn = findGenerator(memory, s.first); at > 0 {
			return at, drawn, true
		}
	}
	return 0, 0, false
}

// The generator is a State of Go's internal/chacha8rand, ChaCha8 as in math/rand/v2: a block of words, their
// seed, and counts: words used, words to use, and which block of the seed's it is.
const (
	seedSize   = 32
	blockWords = 32
	blockSize  = blockWords * 8
	countsSize = 3 * 4

	// blocks are made of a seed, counted in blockStep. The end of the last one is the next seed.
	blocks    = 4
	blockStep = 4
	lastWords = blockWords - seedSize/8
	seedWords = (blocks-1)*blockWords + lastWords
)

const (
	// mostBefore bounds the numbers that the runtime draws for itself before it makes the
	// generator: 4 in Go 1.26, the keys of its hashes.
	mostBefore = 8
	// mostSeeds bounds the seeds until the image is taken. Each makes 124 numbers, in a microsecond. Providers
	// draw 10 to 30, or thousands if they make many maps when they start.
	mostSeeds = 1 << 14
	// mostLike bounds what looks like a generator. Go's memory has a few; a module may be full of them.
	mostLike = 10_000
)

// findGenerator returns the address of the generator's seed, 0 if it is missing, and the words drawn. The
// runtime draws one for it from a first generator, which it then replaces.
func findGenerator(memory []byte, runtimeSeed [seedSize]byte) (at uint32, drawn uint64) {
	found := generators(memory)
	if len(found) == 0 {
		return 0, 0
	}
	var seeds [mostBefore][seedSize]byte
	for before := range seeds {
		first := rand.NewChaCha8(runtimeSeed)
		draw(first, before)
		for n := 0; n < seedSize; n += 8 {
			binary.LittleEndian.PutUint64(seeds[before][n:], first.Uint64())
		}
	}
	for gone := range uint64(mostSeeds) {
		for n := range seeds {
			if at, ok := found[seeds[n]]; ok {
				return at, gone*seedWords + stateAt(memory, at).used()
			}
			seeds[n] = nextSeed(seeds[n])
		}
	}
	return 0, 0
}

// generatorState is a state of ChaCha8 from its seed on.
type generatorState []byte

func stateAt(memory []byte, seed uint32) generatorState {
	if uint64(seed)+seedSize+countsSize > uint64(len(memory)) {
		return nil
	}
	return memory[seed:][:seedSize+countsSize]
}

// used is how many words of its seed were used.
func (s generatorState) used() uint64 {
	if s == nil {
		return 0
	}
	counts := s[seedSize:]
	return uint64(binary.LittleEndian.Uint32(counts[8:])/blockStep*blockWords) + uint64(binary.LittleEndian.Uint32(counts))
}

// position is how many words were used since the generator got a seed.
func (s generatorState) position(seed [seedSize]byte) (words uint64, known bool) {
	if s == nil {
		return 0, false
	}
	for gone := range uint64(mostSeeds) {
		if seed == [seedSize]byte(s) {
			return gone*seedWords + s.used(), true
		}
		seed = nextSeed(seed)
	}
	return 0, false
}

// generators returns where a memory has states of ChaCha8 that were used, by their seeds.
func generators(memory []byte) map[[seedSize]byte]uint32 {
	found := make(map[[seedSize]byte]uint32)
	like := 0
	for at := blockSize; at+seedSize+countsSize <= len(memory); at += 8 {
		counts := memory[at+seedSize:][:countsSize]
		used, words, block := binary.LittleEndian.Uint32(counts), binary.LittleEndian.Uint32(counts[4:]), binary.LittleEndian.Uint32(counts[8:])
		if words != blockWords && words != lastWords || used == 0 || used > words || block%blockStep != 0 || block >= blocks*blockStep {
			continue
		}
		if like++; like > mostLike {
			return nil
		}
		seed := [seedSize]byte(memory[at:])
		of := rand.NewChaCha8(seed)
		draw(of, int(block/blockStep*blockWords))
		state := memory[at-blockSize : at]
		for ; words > 0 && binary.LittleEndian.Uint64(state) == of.Uint64(); words-- {
			state = state[8:]
		}
		if words == 0 {
			found[seed] = uint32(at)
		}
	}
	return found
}

func draw(of *rand.ChaCha8, words int) {
	for range words {
		of.Uint64()
	}
}

// nextSeed returns the seed that a generator continues with when it has used one up.
func nextSeed(seed [seedSize]byte) [seedSize]byte {
	of := rand.NewChaCha8(seed)
	draw(of, seedWords+1)
	state, _ := of.MarshalBinary() // whose end it is, and which does not fail
	return [seedSize]byte(state[len(state)-seedSize:])
}

// Reseed gives the generators of an instance that has begun with an image states of their own: the one of
// Go's runtime at the address, which makes new words before it gives any, and the words behind it.
func (s *RandomSource) Reseed(memory api.Memory, address uint32, words []entropy.Word) error {
	if address == 0 {
		return nil
	}
	var drawn [seedSize + entropy.MostWords*8]byte
	if _, err := io.ReadFull(s.From, drawn[:seedSize+len(words)*8]); err != nil {
		return fmt.Errorf("drawing a seed for the instance: %w", err)
	}
	state := append(make([]byte, 0, seedSize+countsSize), drawn[:seedSize]...)
	for _, count := range []uint32{blockWords, blockWords, 0} {
		state = binary.LittleEndian.AppendUint32(state, count)
	}
	written := memory.Write(address, state)
	for n, w := range words {
		number := drawn[seedSize+n*8:][:w.Size]
		written = written && memory.Write(address+seedSize+w.Offset, number)
	}
	if !written {
		return fmt.Errorf("the image has its random generator at %d, which is outside of its memory", address)
	}
	s.seed = [seedSize]byte(drawn[:])
	return nil
}
