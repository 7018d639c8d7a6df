package provider

import (
	"crypto/rand"
	"encoding/binary"
	"hash/crc64"
	"io"
	"math"
	mathrand "math/rand"
)

func drawBytes(n int) ([]byte, error) {
	b := make([]byte, n)
	_, err := io.ReadFull(rand.Reader, b)
	return b, err
}

// draw returns a uniform random number from 0 to n-1; n must not be 0.
func draw(n uint64) (uint64, error) {
	// Numbers from the last, incomplete run of n are drawn again.
	limit := math.MaxUint64 - math.MaxUint64%n
	for {
		var b [8]byte
		if _, err := io.ReadFull(rand.Reader, b[:]); err != nil {
			return 0, err
		}
		if v := binary.LittleEndian.Uint64(b[:]); v < limit {
			return v % n, nil
		}
	}
}

func pick[T any](list []T) (T, error) {
	i, err := draw(uint64(len(list)))
	return list[i], err
}

// shuffle puts the elements in a random order, each as likely as any other.
func shuffle[T any](list []T) error {
	for i := len(list) - 1; i > 0; i-- {
		j, err := draw(uint64(i) + 1)
		if err != nil {
			return err
		}
		list[i], list[j] = list[j], list[i]
	}
	return nil
}

// seeded returns the generator of a seed. It is the generator of the Pulumi random package, for the same values: it must not
// change, nor serve secrets.
func seeded(seed string) *mathrand.Rand {
	sum := crc64.Checksum([]byte(seed), crc64.MakeTable(crc64.ISO))
	return mathrand.New(mathrand.NewSource(int64(sum)))
}
