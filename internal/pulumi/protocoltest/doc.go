// Package protocoltest compares the descriptions of Pulumi's protocol that Husk has with the published ones.
package protocoltest
