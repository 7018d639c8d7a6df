// Package conformance runs the programs of Pulumi's conformance tests for languages on Husk, and holds the states that
// they leave against what Pulumi's tests demand: translated to YAML, and as Pulumi generates them for Node.js.
package conformance
