//go:build race

package usertest

// raceScripts are the scripts in which much happens at once. Under the race detector all of them would take ten minutes, mostly
// for compiling modules.
var raceScripts = []string{"failures", "policies", "up"}
