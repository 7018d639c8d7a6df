// Package provider holds the exports of a provider's module.
package provider
