// Package test tests the adapter for Terraform with providers on Terraform's SDKs. It is a module of its own, because these SDKs
// are not part of the adapter.
package test
