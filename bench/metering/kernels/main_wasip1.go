// Command kernels is a module of small computations, each in the shape of code that
// guests run: loops that compute, loops over memory, recursion, allocation.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
)

func main() {}

//go:wasmexport loop
func loop(n int32) int32 {
	x := uint32(2463534242)
	for range n * 1000 {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
	}
	return int32(x)
}

//go:wasmexport fibonacci
func fibonacci(n int32) int32 {
	if n < 2 {
		return n
	}
	return fibonacci(n-1) + fibonacci(n-2)
}

//go:wasmexport matrix
func matrix(n int32) int32 {
	a, b, c := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
	for i := range a {
		a[i], b[i] = float64(i), float64(i%7)
	}
	for i := range n {
		for j := range n {
			var sum float64
			for k := range n {
				sum += a[i*n+k] * b[k*n+j]
			}
			c[i*n+j] = sum
		}
	}
	return int32(int64(c[n+1]))
}

//go:wasmexport hash
func hash(n int32) int32 {
	sum := sha256.Sum256(make([]byte, n<<10))
	return int32(sum[0])
}

//go:wasmexport sort
func sort(n int32) int32 {
	numbers := make([]int, n)
	x := uint32(1)
	for i := range numbers {
		x = x*1664525 + 1013904223
		numbers[i] = int(x)
	}
	slices.Sort(numbers)
	return int32(numbers[n/2])
}

// document is what JSON is made of, and properties.
func document(n int32) map[string]any {
	all := make(map[string]any, n)
	for i := range n {
		all["key"+strings.Repeat("x", int(i%5))+string(rune('a'+i%26))] = map[string]any{
			"text": strings.Repeat("word ", int(i%9)), "number": float64(i), "flags": []any{true, false},
		}
	}
	return all
}

//go:wasmexport words
func words(n int32) int32 {
	text := strings.Repeat("the quick brown fox jumps over the lazy dog and the cat ", int(n))
	count := map[string]int{}
	for word := range strings.FieldsSeq(text) {
		count[word]++
	}
	return int32(count["the"])
}

//go:wasmexport roundtrip
func roundtrip(n int32) int32 {
	text, err := json.Marshal(document(n))
	if err != nil {
		panic(err)
	}
	var back map[string]any
	if err := json.Unmarshal(text, &back); err != nil {
		panic(err)
	}
	return int32(len(back))
}

//go:wasmexport properties
func properties(n int32) int32 {
	entries := make([]property.Entry, n)
	for i := range entries {
		key := "key" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		entries[i] = property.Entry{Key: key, Value: property.Array(
			property.String(strings.Repeat("word ", i%9)), property.Number(float64(i)), property.Bool(true),
		)}
	}
	encoded, err := guestcbor.Marshal(property.NewMap(entries...))
	if err != nil {
		panic(err)
	}
	back, err := guestcbor.Unmarshal(encoded)
	if err != nil {
		panic(err)
	}
	return int32(back.Len())
}
