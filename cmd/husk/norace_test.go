//go:build !race

package main

// raceScripts is empty: all scripts run.
var raceScripts []string
