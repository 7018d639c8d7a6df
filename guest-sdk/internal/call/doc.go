// Package call holds what an author's code finds in the context of a call, in a provider
// and in a policy pack alike: its end, and the log.
package call
