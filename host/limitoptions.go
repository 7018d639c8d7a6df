package host

import (
	"cmp"
	"time"

	"github.com/husk-dev/husk/host/internal/system"
)

// limits are those of a host that are set by a method of [Config] of their own. A limit of
// 0 is not set.
type limits struct {
	totalMemory           uint64
	tableElements         uint32
	requestBytes          int
	answerBytes           uint64
	logRate               int
	openFiles             int
	totalOpenFiles        int
	waitingCalls, streams int
	compileTime           time.Duration
	crashes               int
	crashWindow           time.Duration
	idleTime              time.Duration
	idleInstances         int
}

func defaultLimits() limits {
	return limits{
		totalMemory: DefaultTotalMemory, tableElements: DefaultTableElements,
		requestBytes: DefaultRequestBytes, answerBytes: DefaultAnswerBytes,
		logRate: DefaultLogRate, openFiles: DefaultOpenFiles, totalOpenFiles: system.OpenFiles(DefaultOpenFiles),
		waitingCalls: DefaultWaitingCalls, streams: DefaultStreams,
		compileTime: DefaultCompileTime,
		crashes:     DefaultQuarantineCrashes, crashWindow: DefaultQuarantineWindow,
		idleTime: DefaultIdleTime, idleInstances: DefaultIdleInstances,
	}
}

// or answers the limits, with others where they are not set.
func (l limits) or(others limits) limits {
	return limits{
		totalMemory:    cmp.Or(l.totalMemory, others.totalMemory),
		tableElements:  cmp.Or(l.tableElements, others.tableElements),
		requestBytes:   cmp.Or(l.requestBytes, others.requestBytes),
		answerBytes:    cmp.Or(l.answerBytes, others.answerBytes),
		logRate:        cmp.Or(l.logRate, others.logRate),
		openFiles:      cmp.Or(l.openFiles, others.openFiles),
		totalOpenFiles: cmp.Or(l.totalOpenFiles, others.totalOpenFiles),
		waitingCalls:   cmp.Or(l.waitingCalls, others.waitingCalls),
		streams:        cmp.Or(l.streams, others.streams),
		compileTime:    cmp.Or(l.compileTime, others.compileTime),
		crashes:        cmp.Or(l.crashes, others.crashes),
		crashWindow:    cmp.Or(l.crashWindow, others.crashWindow),
		idleTime:       cmp.Or(l.idleTime, others.idleTime),
		idleInstances:  cmp.Or(l.idleInstances, others.idleInstances),
	}
}

// WithTableElements bounds what all tables of an instance may grow to, in elements. See
// [DefaultTableElements].
func (c Config) WithTableElements(elements uint32) Config {
	c.most.tableElements = elements
	return c
}

// WithRequestBytes bounds each bag of property values that is passed to a guest. See
// [DefaultRequestBytes].
func (c Config) WithRequestBytes(bytes int) Config { c.most.requestBytes = bytes; return c }

// WithAnswerBytes bounds what a guest passes in one answer, or in one call of the host. See
// [DefaultAnswerBytes].
func (c Config) WithAnswerBytes(bytes uint64) Config { c.most.answerBytes = bytes; return c }

// WithLogRate bounds what a provider logs and prints, in bytes per second. See
// [DefaultLogRate].
func (c Config) WithLogRate(bytes int) Config { c.most.logRate = bytes; return c }

// WithOpenFiles bounds the files, directories, connections, and assets that an instance has open.
// See [DefaultOpenFiles].
func (c Config) WithOpenFiles(files int) Config { c.most.openFiles = files; return c }

// WithTotalOpenFiles bounds what all instances of the host have open together. The default is half
// of what the system lets the process open, so that the program has the other half.
func (c Config) WithTotalOpenFiles(files int) Config { c.most.totalOpenFiles = files; return c }

// WithWaitingCalls bounds the calls of one provider that wait for an instance. Further ones
// fail at once. See [DefaultWaitingCalls].
func (c Config) WithWaitingCalls(calls int) Config { c.most.waitingCalls = calls; return c }

// WithStreams bounds the open streams of one provider. See [DefaultStreams].
func (c Config) WithStreams(streams int) Config { c.most.streams = streams; return c }

// WithCompileTime bounds how long the compilation of a module may take. See
// [DefaultCompileTime].
func (c Config) WithCompileTime(limit time.Duration) Config { c.most.compileTime = limit; return c }
