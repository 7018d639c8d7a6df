// Package call holds the values in the context of an author's call, in a provider and in a policy pack alike: its end, and the
// log.
package call
