package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/host/internal/guest"
	"github.com/husk-dev/husk/host/limit"
	"github.com/husk-dev/husk/internal/entropy"
	"github.com/husk-dev/husk/internal/meter"
	"github.com/husk-dev/husk/internal/printable"
)

// All instances that begin with an image have what was made in memory until then. That must
// not be what each of them would have made in another way: a generator that began with the
// time, a token, when the program started. So an image is taken only of an instance that has
// read neither the clock nor random numbers. Whether it has is not a question of what the
// memory looks like, where a year or a coin could hide: reads are counted.
//
// Go's runtime reads both for itself. So modules of Go count what it reads (see package
// entropy), and an image is taken if there is nothing else. Modules of other languages may not
// read anything.
//
// What else a guest can observe is the same in all instances: those that make the base image
// and begin with it have no variables and no directories, and the same arguments; calls of the
// host, and output, rule an image out. An instance with a setup may have seen more: files,
// variables, answers of services. These belong to its configuration, whose instances share
// what was learnt, as they would be one process elsewhere.

// BaseImage tells about the base image of a module: the memory after its start, with which all
// instances begin that were granted neither variables nor directories.
type BaseImage struct {
	// Made reports whether there is one. Without it, each instance runs the module's start.
	Made bool `json:"made"`
	// Prepared reports whether it has what the module prepares ahead of all calls. A module
	// made with the Go SDK runs main then. Without it, each instance does that in its first call.
	Prepared bool `json:"prepared"`
	// Reason says why there is no image, or why it was not prepared; empty if it was, or if
	// there is nothing to prepare.
	Reason string `json:"reason,omitempty"`
}

// BaseImage makes the base image if there is none yet, and tells about it.
func (m *Module) BaseImage(ctx context.Context) (BaseImage, error) {
	i := m.images
	switch {
	case !i.frozen:
		return BaseImage{Reason: errElsewhere.Error()}, nil
	case m.host.config.random != nil:
		return BaseImage{Reason: "the host was given other random numbers than the system's"}, nil
	}
	i.making.Lock()
	defer i.making.Unlock()
	if i.kept == nil { // else it is known
		m.ensureBase(ctx)
	}
	return i.about, context.Cause(ctx)
}

// sayWhy logs why instances start by themselves, once for each sandbox.
func (s *sandbox) sayWhy(ctx context.Context) {
	if !s.beginsWithBase() {
		return // it was granted what it may read when it starts
	}
	s.toldWhy.Do(func() {
		i := s.module.images
		i.making.Lock()
		about := i.about
		i.making.Unlock()
		switch {
		case about.Reason == "":
		case about.Made:
			s.debug(ctx, "each instance prepares itself, and does not begin with an image of that: "+about.Reason)
		default:
			s.debug(ctx, "each instance starts by itself, and does not begin with an image of the start: "+about.Reason)
		}
	})
}

// sayWhySetUp logs why instances repeat the setup, once for each sandbox.
func (s *sandbox) sayWhySetUp(ctx context.Context, reason error) {
	s.toldWhySetUp.Do(func() {
		s.debug(ctx, "each instance is set up by itself, and does not begin with an image of its setup: "+reason.Error())
	})
}

// debug writes a record about the instances.
func (s *sandbox) debug(ctx context.Context, message string) {
	s.logger.LogAttrs(ctx, slog.LevelDebug, printable.Text(message), slog.String(LogProvider, s.identity.Load().name))
}

// What an image cannot hold: tables that change, and what is outside of the module.
var (
	errElsewhere = errors.New("its state is more than its memory and its numeric globals")
	errOpen      = errors.New("it leaves a file or a connection open")
)

// impurity is what rules an image out.
type impurity string

const (
	clockRead   impurity = "reads the clock"
	randomTaken impurity = "takes random numbers"
)

// impureError is an instance whose memory may depend on the clock or on random numbers, so that
// no other one may begin as it is.
type impureError struct {
	what impurity
	// by is the function that did it, empty if it is not known.
	by string
}

func (e *impureError) Error() string {
	by := e.by
	if by == "" {
		by = "it"
	}
	return by + " " + string(e.what)
}

// imageBuilder is what is known of an instance that starts to make an image.
type imageBuilder struct {
	printed bool
	// impure is nil unless the instance was ended for that.
	impure *impureError
	// refused is a limit of the host's that the instance has met, nil for none: what has become
	// of it may be something else elsewhere.
	refused *limit.ExceededError
}

// readsClock is told that the guest is about to read the clock. One that makes an image ends
// there, unless Go's runtime does it, which has counted that before.
func (i *instance) readsClock() {
	i.clockReads++
	if d := i.sandbox.imageBuilder; d != nil && i.clockReads > i.counted().clock {
		panic(&impureError{what: clockRead})
	}
}

// takesRandom is told that the guest is about to take random bytes. One that makes an image
// ends there, unless it is the seed of Go's runtime.
func (i *instance) takesRandom(bytes uint64) {
	i.call.RandomBytes(bytes)
	seeds := i.sandbox.module.images.account != nil && !i.begun() && i.random.TakesSeed(bytes)
	if d := i.sandbox.imageBuilder; d != nil && bytes > 0 && !seeds {
		panic(&impureError{what: randomTaken})
	}
}

// watch has an instance that makes an image trap where the program draws random numbers of
// Go's runtime.
func (i *instance) watch() {
	if a := i.sandbox.module.images.account; a != nil && i.sandbox.imageBuilder != nil {
		i.module.ExportedGlobal(meter.GlobalName(a.Watched)).(api.MutableGlobal).Set(1)
	}
}

// counts is what Go's runtime has read for itself since the instance began.
type counts struct{ clock, random uint64 }

func (i *instance) counted() counts {
	a := i.sandbox.module.images.account
	if a == nil {
		return counts{}
	}
	value := func(index int) uint64 { return i.module.ExportedGlobal(meter.GlobalName(index)).Get() }
	return counts{value(a.Clock), value(a.Random)}
}

// forgetCounts has instances that begin with the globals count from 0.
func (i *instance) forgetCounts(globals []uint64) {
	a := i.sandbox.module.images.account
	if a == nil {
		return
	}
	for _, index := range []int{a.Clock, a.Random, a.Watched} {
		globals[slices.Index(i.sandbox.module.images.globals, meter.GlobalName(index))] = 0
	}
}

// prove fails with an *[impureError] if the program has read the clock or random numbers since
// the instance began. It returns where the memory has the generator of Go's runtime, 0 if it has
// none.
func (i *instance) prove(memory []byte) (generator uint32, err error) {
	c := i.counted()
	if i.clockReads != c.clock {
		return 0, &impureError{what: clockRead}
	}
	var known uint32
	if i.begun() {
		known = i.from.generator
	}
	generator, drawn, ok := i.random.Generator(memory, i.begun(), known)
	if !ok || drawn != c.random {
		return 0, &impureError{what: randomTaken}
	}
	return generator, nil
}

// failed is told of a call of the instance that has failed.
func (d *imageBuilder) failed(i *instance, err error) {
	impure, ok := errors.AsType[*impureError](err)
	if a := i.sandbox.module.images.account; !ok && a != nil && i.module != nil &&
		i.module.ExportedGlobal(meter.GlobalName(a.Watched)).Get() == entropy.Caught {
		impure, ok = &impureError{what: randomTaken}, true
	}
	if ok {
		impure.by = guest.Initiator(err)
		d.impure = impure
	}
}

// errTold is a module that has effects as it starts, which each instance is to have.
var errTold = errors.New("it prints, or calls the host")

// reason returns why there is no image, by what has failed; nil for what was done well, but
// not only in memory.
func (d *imageBuilder) reason(m *images, err error) error {
	switch {
	case d.impure != nil && m.altered:
		return fmt.Errorf("%w, or Go's runtime in it does, which is not known in this version, or was changed by a tool behind Go's linker", d.impure)
	case d.impure != nil:
		return d.impure
	case d.refused != nil:
		return d.refused
	case err == nil:
		return errTold
	}
	return fmt.Errorf("it fails: %w", err)
}

// reasonOf is the text for [BaseImage]. It is empty for a limit that was exceeded, as that may be
// the machine's fault and not the module's.
func reasonOf(err error) string {
	if _, exceeded := errors.AsType[*limit.ExceededError](err); exceeded || err == nil {
		return ""
	}
	reason, _, _ := strings.Cut(err.Error(), "\n")
	return printable.Text(reason)
}
