// Package policy holds what a policy pack's module exports.
package policy
