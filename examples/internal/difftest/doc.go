// Package difftest is the proof that a provider is the same in a program and in a
// module: its tests ask both the same questions, generated from the provider's own
// schema, with the same random bytes and at the same time, and require the same
// answers, errors included. What it knows of each provider is what makes questions
// sensible, since most answers to random ones are complaints.
package difftest
