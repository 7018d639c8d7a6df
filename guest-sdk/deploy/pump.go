package deploy

import (
	"errors"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/internal/eventual"
)

// A module has one thread, and a call of the monitor that waits stops it. Operations are started
// without waiting, and the module waits only if nothing else is left to do.

func (d *Deployment) begin(o *operation) {
	d.waiting = append(d.waiting, o)
	d.start()
}

// start starts the operations whose sources exist. Lazy functions with children may call it.
func (d *Deployment) start() {
	for again := true; again; {
		again = false
		for _, o := range slices.Clone(d.waiting) {
			values, ok, err := valuesOf(o.sources)
			at := slices.Index(d.waiting, o)
			if at < 0 || !ok && err == nil && d.failure == nil {
				continue
			}
			d.waiting = slices.Delete(d.waiting, at, at+1)
			again = true
			if err != nil && d.failure == nil {
				err = o.explain(err)
			} else if d.failure != nil {
				err = d.failure
			}
			if err != nil {
				d.fail(o, err)
				continue
			}
			handle, err := d.monitor.Start(d.ctx, o.request(values))
			if err != nil {
				d.fail(o, o.explain(err))
				continue
			}
			d.running[handle] = o
		}
	}
}

func valuesOf(cells []*eventual.Cell) (values []property.Value, ok bool, err error) {
	values = make([]property.Value, len(cells))
	ok = true
	for i, c := range cells {
		v, there, err := c.Get()
		if err != nil {
			return nil, false, err
		}
		values[i], ok = v, ok && there
	}
	return values, ok, nil
}

// wait waits for one operation that runs, and starts what it made possible.
func (d *Deployment) wait() error {
	completed, err := d.monitor.Wait(d.ctx)
	if err != nil {
		return err
	}
	o := d.running[completed.Handle]
	if o == nil {
		return abi.NewError(abi.ErrorKindInternal, "the monitor answers an operation that was not started")
	}
	delete(d.running, completed.Handle)
	if completed.Outcome.Case == abi.OutcomeCaseFailed {
		err = completed.Outcome.Failed
	} else {
		err = o.done(&completed.Outcome)
	}
	if err != nil {
		d.fail(o, o.explain(err))
	} else {
		o.cell.Set(property.Null, nil)
	}
	d.start()
	return nil
}

// fail records a failure. The first counts, but a child that was cancelled because something else failed does not count if there
// is another failure.
func (d *Deployment) fail(o *operation, err error) {
	if o.fatal && (d.failure == nil || errors.Is(d.failure, abi.ErrCancelled) && !errors.Is(err, abi.ErrCancelled)) {
		d.failure = err
	}
	o.cell.Set(property.Null, err)
}

// explain adds to an error what failed.
func (o *operation) explain(err error) error {
	e := *abi.AsError(err)
	e.Message = o.what + ": " + e.Message
	// The state in a child's failure is recorded with the child; the path is one of its properties, not of the whole's.
	e.InitFailure = nil
	if e.Kind == abi.ErrorKindInitFailed {
		e.Kind = abi.ErrorKindInternal
	}
	if e.Path != "" {
		e.Message, e.Path = o.what+": "+e.Path+": "+e.Message[len(o.what)+2:], ""
	}
	return &e
}

// await waits until the cell has a value.
func (d *Deployment) await(c *eventual.Cell) (property.Value, error) {
	for {
		v, ok, err := c.Get()
		if ok || err != nil {
			return v, err
		}
		d.start()
		if len(d.running) == 0 {
			return property.Null, errNotOurs()
		}
		if err := d.wait(); err != nil {
			return property.Null, err
		}
	}
}

// finish waits until all that was declared is made.
func (d *Deployment) finish() error {
	d.start()
	for len(d.running) > 0 {
		if err := d.wait(); err != nil {
			return err
		}
	}
	if d.failure == nil && len(d.waiting) > 0 {
		return d.waiting[0].explain(errNotOurs())
	}
	return d.failure
}

func errNotOurs() error {
	return abi.NewError(abi.ErrorKindInternal, "it uses a value that never comes: of another program or component, or of itself")
}
