package display

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Waiting shows what a command waits for outside of a deployment: on a terminal in live lines whose seconds go on, elsewhere in
// a line at its beginning, and, if it is long, one in a while and one at its end. It is safe for concurrent use.
type Waiting struct {
	mu     sync.Mutex
	style  Style
	screen *screen
	waits  []*wait
	// inLine is set while the last text has no line end, so that live lines would go on in its line.
	inLine bool
	// ticking says that a goroutine draws the waits again and again, until there are none.
	ticking bool
}

// wait is something that a command waits for.
type wait struct {
	what  string
	began time.Time
	// told is the time of the last line about it, zero before the first.
	told time.Time
	// from is the time from which it is shown, so that a quick transfer is not shown at all.
	from time.Time
	// done and size are in bytes, 0 where they are not known.
	done, size int64
}

// worthShowing is the time after which a transfer is shown, and the end of a wait is told.
const worthShowing = 2 * time.Second

// NewWaiting returns a display on errs. Whatever is written to out or errs, which may be one terminal, goes above it.
func NewWaiting(out, errs *Output) *Waiting {
	w := &Waiting{style: errs.Style(), screen: newScreen(errs)}
	w.screen.out = below{errs}
	out.setAbove(w.above)
	errs.setAbove(w.above)
	return w
}

// below writes the live lines of an output.
type below struct{ *Output }

// Write implements [io.Writer].
func (b below) Write(text []byte) (int, error) { return b.write(text) }

// above clears the live lines, so that a text can be written in their place. The caller calls done after the text, which draws them
// below it.
func (w *Waiting) above(text []byte) (done func()) {
	w.mu.Lock()
	w.screen.print("", nil)
	return func() {
		if len(text) > 0 {
			w.inLine = text[len(text)-1] != '\n'
		}
		w.draw(time.Now())
		w.mu.Unlock()
	}
}

// Begin shows a wait that has begun.
func (w *Waiting) Begin(what string, began time.Time) { w.show(what, began, began, 0, 0) }

// Transferred shows how much of a file has come or gone, once it takes long. The size is 0 where it is not known.
func (w *Waiting) Transferred(what string, done, size int64) {
	now := time.Now()
	w.show(what, now, now.Add(worthShowing), done, size)
}

func (w *Waiting) show(what string, began, from time.Time, done, size int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.IndexFunc(w.waits, func(x *wait) bool { return x.what == what }); i >= 0 {
		w.waits[i].done, w.waits[i].size = done, size // which the next drawing shows
		return
	}
	w.waits = append(w.waits, &wait{what: what, began: began, from: from, done: done, size: size})
	w.at(time.Now())
	if !w.ticking {
		w.ticking = true
		go w.tick()
	}
}

// End ends a wait. Given up, it says nothing more.
func (w *Waiting) End(what string, givenUp bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.waits, func(x *wait) bool { return x.what == what })
	if i < 0 {
		return
	}
	x := w.waits[i]
	w.waits = slices.Delete(w.waits, i, i+1)
	now := time.Now()
	if took := now.Sub(x.began); w.screen.size == nil && !x.told.IsZero() && took >= worthShowing && !givenUp {
		w.screen.print(fmt.Sprintf("%s took %s\n", x.what, duration(took)), nil)
	}
	w.draw(now)
}

// tick draws the waits again and again.
func (w *Waiting) tick() {
	for ticker := time.NewTicker(redrawEvery); ; <-ticker.C {
		w.mu.Lock()
		if len(w.waits) == 0 {
			w.ticking = false
			w.mu.Unlock()
			ticker.Stop()
			return
		}
		w.at(time.Now())
		w.mu.Unlock()
	}
}

// at shows the waits at a time. The caller holds the lock.
func (w *Waiting) at(now time.Time) {
	w.draw(now)
	for _, x := range w.waits {
		if w.screen.size != nil || now.Before(x.from) {
			continue
		}
		switch {
		case x.told.IsZero():
			w.screen.print(x.what+"…\n", nil)
		case now.Sub(x.told) >= tellEvery:
			w.screen.print(x.text(now)+"\n", nil)
		default:
			continue
		}
		x.told = now
	}
}

// draw draws the live lines. The caller holds the lock.
func (w *Waiting) draw(now time.Time) {
	if w.screen.size == nil || w.inLine {
		return
	}
	columns, _ := w.screen.size()
	var lines []string
	for _, x := range w.waits {
		if !now.Before(x.from) {
			lines = append(lines, w.style.faint(cutLine(x.text(now), columns)))
		}
	}
	w.screen.refresh(lines)
}

// text says how far a wait is, and since when.
func (x *wait) text(now time.Time) string {
	parts := []string{duration(now.Sub(x.began))}
	switch {
	case x.size > 0:
		parts = []string{fmt.Sprintf("%d %% of %s", 100*x.done/x.size, Megabytes(x.size)), parts[0]}
	case x.done > 0:
		parts = []string{Megabytes(x.done), parts[0]}
	}
	return x.what + "… " + strings.Join(parts, ", ")
}
