package telemetry

import (
	"database/sql"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Process returns the metrics of this process, which has begun at a time.
func Process(began time.Time) []Metric {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return append([]Metric{
		{Name: "process.uptime", Unit: "s", About: "How long the server has run.", Points: One(time.Since(began).Seconds())},
		{Name: "go.goroutine.count", Unit: "{goroutine}", About: "Goroutines.", Points: One(runtime.NumGoroutine())},
		{Name: "go.memory.used", Unit: "By", About: "Memory that Go has from the system.", Points: One(samples[0].Value.Uint64() - samples[1].Value.Uint64())},
		{Name: "go.memory.limit", Unit: "By", About: "The limit of that memory, above which garbage is collected more often.", Points: One(debug.SetMemoryLimit(-1))},
	}, ofSystem()...)
}

// Pool returns the metrics of a pool of connections to a database.
func Pool(s sql.DBStats) []Metric {
	return []Metric{
		{
			Name: "db.client.connection.count", Unit: "{connection}", About: "Connections to the server's database, by state.", Labels: []string{"db.client.connection.state"},
			Points: []Point{{Labels: []string{"idle"}, Number: float64(s.Idle)}, {Labels: []string{"used"}, Number: float64(s.InUse)}},
		},
		{Name: "db.client.connection.max", Unit: "{connection}", About: "The most connections to the server's database.", Points: One(s.MaxOpenConnections)},
		{Name: "husk.database.waits", Unit: "{wait}", About: "Times that something waited for a connection.", Kind: Counter, Points: One(s.WaitCount)},
		{Name: "husk.database.wait", Unit: "s", About: "How long all that waited for a connection has waited.", Kind: Counter, Points: One(s.WaitDuration.Seconds())},
	}
}
