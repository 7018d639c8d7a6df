// Package provider holds what a provider's module exports.
package provider
