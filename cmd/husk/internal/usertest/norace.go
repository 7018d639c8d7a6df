//go:build !race

package usertest

// raceScripts is empty: all scripts run.
var raceScripts []string
