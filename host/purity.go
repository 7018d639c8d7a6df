package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/host/internal/guestcall"
	"github.com/husk-dev/husk/host/limit"
	"github.com/husk-dev/husk/internal/base/printable"
	"github.com/husk-dev/husk/internal/wasm/entropy"
	"github.com/husk-dev/husk/internal/wasm/meter"
)

// Instances that begin with an image share its memory. That must not be what each would have made in another way: a token, a
// generator that began with the time. So an image is taken only of an instance that read neither the clock nor random numbers.
// Reads are counted, because memory does not show them.
//
// Go's runtime reads both for itself. Modules of Go count these reads (see package entropy), and there must
// be no others. Modules of other languages may not read anything.
//
// Instances that make the base image or begin with it have the same arguments, no variables, and no directories. Calls of the
// host and output rule an image out. An instance's data from its setup belongs to its configuration, whose instances share it
// like one process.

// BaseImage describes the base image of a module: the memory after its start, with which all instances
// begin that were granted neither variables nor directories.
type BaseImage struct {
	// Made reports whether there is one. Without it, each instance runs the module's start.
	Made bool `json:"made"`
	// Prepared reports whether the module was prepared ahead of all calls: with the Go SDK, main has run.
	// Otherwise each instance prepares itself in its first call.
	Prepared bool `json:"prepared"`
	// Reason says why there is no image, or why it was not prepared; empty if nothing went wrong.
	Reason string `json:"reason,omitempty"`
}

// BaseImage makes the base image if there is none yet, and describes it.
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

// logNoSnapshotReason logs why instances start by themselves, once for each sandbox.
func (s *sandbox) logNoSnapshotReason(ctx context.Context) {
	if !s.beginsWithBase() {
		return // it was granted what it may read when it starts
	}
	s.noSnapshotReasonLogged.Do(func() {
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

// debug writes a record about the instances.
func (s *sandbox) debug(ctx context.Context, message string) {
	s.logger.LogAttrs(ctx, slog.LevelDebug, printable.Text(message), slog.String(LogProvider, s.identity.Load().name))
}

// State that an image cannot hold: changed tables, and anything outside of the module.
var (
	errElsewhere = errors.New("its state is more than its memory and its numeric globals")
	errOpen      = errors.New("it leaves a file or a connection open")
)

// The reasons against an image.
const (
	clockRead   = "reads the clock"
	randomTaken = "takes random numbers"
)

// impureError is an instance whose memory may depend on the clock or on random numbers.
type impureError struct {
	what string
	// by is the function that did it, empty if it is not known.
	by string
}

func (e *impureError) Error() string { return cmp.Or(e.by, "it") + " " + e.what }

// imageBuilder observes an instance that starts to make an image.
type imageBuilder struct {
	printed bool
	// impure is nil unless the instance was ended for that.
	impure *impureError
	// refused is a limit that the instance has met, nil for none; elsewhere it may go on.
	refused *limit.ExceededError
}

// readsClock counts a read of the clock. It ends an instance that makes an image, unless Go's runtime reads.
func (i *instance) readsClock() {
	i.clockReads++
	if d := i.sandbox.imageBuilder; d != nil && i.clockReads > i.counted().clock {
		panic(&impureError{what: clockRead})
	}
}

// takesRandom counts random bytes. It ends an instance that makes an image, unless Go's runtime takes its seed.
func (i *instance) takesRandom(bytes uint64) {
	i.call.RandomBytes(bytes)
	seeds := i.sandbox.module.images.account != nil && !i.begun() && i.random.TakesSeed(bytes)
	if d := i.sandbox.imageBuilder; d != nil && bytes > 0 && !seeds {
		panic(&impureError{what: randomTaken})
	}
}

// watch has an instance that makes an image trap if the program draws random numbers of Go's runtime.
func (i *instance) watch() {
	if a := i.sandbox.module.images.account; a != nil && i.sandbox.imageBuilder != nil {
		i.module.ExportedGlobal(meter.GlobalName(a.Watched)).(api.MutableGlobal).Set(1)
	}
}

// counts is how often Go's runtime has read the clock and random numbers for itself since the instance began.
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

// prove fails with an *[impureError] if the program has read the clock or random numbers. It returns the
// address of the generator of Go's runtime, 0 for none.
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

// failed notes a failed call of the instance.
func (d *imageBuilder) failed(i *instance, err error) {
	impure, ok := errors.AsType[*impureError](err)
	if a := i.sandbox.module.images.account; !ok && a != nil && i.module != nil &&
		i.module.ExportedGlobal(meter.GlobalName(a.Watched)).Get() == entropy.Caught {
		impure, ok = &impureError{what: randomTaken}, true
	}
	if ok {
		impure.by = guestcall.Initiator(err)
		d.impure = impure
	}
}

// errStartHasEffects is a module that has effects as it starts, which each instance is to have.
var errStartHasEffects = errors.New("it prints, or calls the host")

// reason returns why there is no image: a failure, or effects beside memory.
func (d *imageBuilder) reason(m *images, err error) error {
	switch {
	case d.impure != nil && m.altered:
		return fmt.Errorf("%w, or Go's runtime in it does, which is not known in this version, or was changed by a tool behind Go's linker", d.impure)
	case d.impure != nil:
		return d.impure
	case d.refused != nil:
		return d.refused
	case err == nil:
		return errStartHasEffects
	}
	return fmt.Errorf("it fails: %w", err)
}

// reasonOf returns the text for [BaseImage], empty for a limit, which may be the machine's fault.
func reasonOf(err error) string {
	if _, exceeded := errors.AsType[*limit.ExceededError](err); exceeded || err == nil {
		return ""
	}
	reason, _, _ := strings.Cut(err.Error(), "\n")
	return printable.Text(reason)
}
