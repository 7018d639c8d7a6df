package guestcbor_test

import (
	"testing"

	"github.com/husk-dev/husk/abi/property/guestcbor"
	"github.com/husk-dev/husk/internal/property/propertytest"
	"github.com/stretchr/testify/require"
)

func BenchmarkDecode(b *testing.B) {
	for name, m := range propertytest.BenchmarkBags() {
		b.Run(name, func(b *testing.B) {
			data, err := guestcbor.Marshal(m)
			require.NoError(b, err)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := guestcbor.Unmarshal(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	for name, m := range propertytest.BenchmarkBags() {
		b.Run(name, func(b *testing.B) {
			data, err := guestcbor.Marshal(m)
			require.NoError(b, err)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := guestcbor.Marshal(m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
