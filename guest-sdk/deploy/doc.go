// Package deploy declares the resources of programs (package program) and of components (package guest), and computes with
// values that are known only once a resource exists.
package deploy
