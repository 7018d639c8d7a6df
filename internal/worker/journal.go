package worker

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/husk-dev/husk/internal/backend/runapi"
)

const (
	// lineTime is how long lines are collected before they are sent.
	lineTime = 150 * time.Millisecond
	// maxPending bounds the lines that wait to be sent: the process waits then.
	maxPending = 10_000
	// maxBatch bounds the lines that are sent at once, and maxText one line in bytes.
	maxBatch, maxText = 1000, 64 << 10
	// maxBatchBytes bounds a batch, if it is more than a line: proxies take no large bodies (nginx 1 MB, unless it is told
	// otherwise), nor does a server with little memory.
	maxBatchBytes = 512 << 10
)

// journal sends the log of a run, and with it that the worker has the run.
type journal struct {
	client *runapi.Client
	beat   time.Duration
	// wake has something if there are lines to send.
	wake chan struct{}
	// lost is closed when the server has given the run to another worker.
	lost chan struct{}
	// why says why it was, once lost is closed.
	why error
	// cancel receives how often the run is to be interrupted.
	cancel chan int

	// kept has all lines, if they are to be reported later. The process never waits then.
	kept *kept

	mu      sync.Mutex
	room    *sync.Cond
	pending []runapi.Line
	next    int64
}

func newJournal(client *runapi.Client, claim *runapi.Claim) *journal {
	return &journal{
		client: client, next: claim.Next, beat: time.Duration(claim.BeatSeconds * float64(time.Second)),
		wake: make(chan struct{}, 1), lost: make(chan struct{}), cancel: make(chan int, 2),
	}
}

// write adds a line.
func (j *journal) write(stream, text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.room == nil {
		j.room = sync.NewCond(&j.mu)
	}
	if j.kept != nil {
		j.kept.add(stream, text)
		if j.client == nil || j.isLost() || len(j.pending) >= maxPending {
			return
		}
	}
	for len(j.pending) >= maxPending && !j.isLost() {
		j.room.Wait()
	}
	j.pending = append(j.pending, runapi.Line{Number: j.next, Stream: stream, Time: time.Now().UTC(), Text: text})
	j.next++
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

func (j *journal) isLost() bool {
	select {
	case <-j.lost:
		return true
	default:
		return false
	}
}

// sent reports whether all lines were sent.
func (j *journal) sent() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.pending) == 0
}

func (j *journal) call(b runapi.Beat, answer *runapi.Answer) (err error) {
	// A lease is three beats: after an attempt at a server that hangs, there is time for another.
	const least = 5 * time.Second
	client := j.client.AttemptsOf(max(j.beat, least))
	if j.kept != nil {
		_, err = client.CallFor(context.Background(), patience, http.MethodPost, "/v1/work/beat", b, answer)
	} else {
		_, err = client.Call(context.Background(), http.MethodPost, "/v1/work/beat", b, answer)
	}
	return err
}

// send sends lines, and at least a beat in each of its times, until all lines are sent after ended is closed.
func (j *journal) send(ended <-chan struct{}) {
	lost := j.lost
	told := 0
	for last := false; !last; {
		select {
		case <-ended:
			last = true
		case <-j.wake:
			select {
			case <-time.After(lineTime):
			case <-ended:
			}
		case <-time.After(j.beat):
		}
		for first := true; ; first = false {
			j.mu.Lock()
			batch := nextBatch(j.pending)
			j.mu.Unlock()
			if len(batch) == 0 && (!first || last) {
				break
			}
			var answer runapi.Answer
			err := j.call(runapi.Beat{Lines: batch}, &answer)
			var refused *runapi.StatusError
			if errors.As(err, &refused) && refused.Status < 500 && !errors.Is(err, runapi.ErrUnreachable) {
				j.mu.Lock()
				j.why = err
				close(lost)
				j.pending = nil
				if j.room != nil {
					j.room.Broadcast()
				}
				j.mu.Unlock()
				return
			}
			if err != nil {
				break // the next beat tries again
			}
			j.mu.Lock()
			j.pending = j.pending[len(batch):]
			if j.room != nil {
				j.room.Broadcast()
			}
			j.mu.Unlock()
			if answer.Cancel > told {
				told = answer.Cancel
				select {
				case j.cancel <- told:
				default:
				}
			}
		}
	}
}

// nextBatch returns the lines that are sent next.
func nextBatch(pending []runapi.Line) []runapi.Line {
	bytes := 0
	for n, line := range pending {
		if bytes += encodedSize(line.Text); n == maxBatch || n > 0 && bytes > maxBatchBytes {
			return pending[:n]
		}
	}
	return pending
}

// encodedSize returns about how many bytes a text has in JSON.
func encodedSize(text string) int {
	const line, escaped = 128, 5 // more
	size := len(text) + line
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			size += escaped
		}
	}
	return size
}

// lines returns a writer whose lines are added to a stream.
func (j *journal) lines(stream string) *lineWriter { return &lineWriter{journal: j, stream: stream} }

type lineWriter struct {
	journal *journal
	stream  string
	rest    []byte
}

func (l *lineWriter) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	for {
		line, after, found := bytes.Cut(l.rest, []byte("\n"))
		if !found && len(l.rest) < maxText {
			return len(b), nil
		}
		if !found || len(line) > maxText {
			line, after = l.rest[:maxText], l.rest[maxText:]
		}
		l.journal.write(l.stream, string(bytes.TrimSuffix(line, []byte("\r"))))
		l.rest = append(l.rest[:0], after...)
	}
}

// end adds what has no end of a line.
func (l *lineWriter) end() {
	if len(l.rest) > 0 {
		l.journal.write(l.stream, string(l.rest))
		l.rest = nil
	}
}
