// Package difftest is the proof that a provider is the same in a program and in a
// module: its tests ask both the same questions, generated from the provider's own
// schema, with the same random bytes and at the same time, and require the same answers, errors included. Its knowledge of each
// provider makes the questions sensible, because most answers to random ones are complaints.
package difftest
