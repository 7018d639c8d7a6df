package backendtest

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/base/processgroup"
)

var (
	// errKilled says that a process has ended before it answered.
	errKilled = errors.New("the process was killed")
	// errGone says that the process of a lease has ended before.
	errGone = errors.New("the process of the lease is gone")
)

// Processes has the writers of a history be processes, which can be killed and paused in the middle of an operation.
// They are the test's own program, whose TestMain calls [Main]. They end with the test, also if it is killed.
type Processes struct {
	t *testing.T

	mu  sync.Mutex
	all []*process
}

// NewProcesses returns the processes of a test. None runs yet.
func NewProcesses(t *testing.T) *Processes {
	t.Helper()
	if testing.Short() {
		t.Skip("kills and pauses processes for ten seconds")
	}
	p := &Processes{t: t}
	t.Cleanup(p.end)
	return p
}

// Open returns the store of a place as the process of writer n opens it. The first call starts the process, and after
// its end the next one starts another.
func (p *Processes) Open(n int, place string) state.Store {
	one := &process{t: p.t, n: n, place: place}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, one)
	return one
}

func (p *Processes) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.all {
		if c := one.current(); c != nil {
			c.kill()
		}
	}
}

// pick returns a process that runs, preferably one with a lease; nil if none runs.
func (p *Processes) pick(random *rand.Rand) (*process, *child) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found *process
	var runs *child
	for _, i := range random.Perm(len(p.all)) {
		one := p.all[i]
		if c := one.current(); c != nil && (found == nil || c.leased.Load()) {
			found, runs = one, c
		}
	}
	return found, runs
}

// Kill is the fault that a process is killed, mostly in the middle of an operation, so many times at least. endsLease
// says that its lease ends with it.
func (p *Processes) Kill(endsLease bool, times int) Fault {
	return Fault{Every: 2, Times: times, exit: endsLease, try: func(random *rand.Rand) (int, bool) {
		one, c := p.pick(random)
		if c == nil {
			return 0, false
		}
		c.awaitCall()
		const longest = time.Millisecond // of many operations, mostly shorter ones
		time.Sleep(time.Duration(float64(longest) * math.Pow(random.Float64(), 2)))
		c.kill()
		return one.n, true
	}}
}

// Pause is the fault that a process is paused, mostly in the middle of an operation, so many times at least. Meanwhile
// expire, unless it is nil, has the lease of the stack expire.
func (p *Processes) Pause(expire func(), times int) Fault {
	return Fault{Every: 2, Times: times, Expires: expire != nil, try: func(random *rand.Rand) (int, bool) {
		one, c := p.pick(random)
		if c == nil {
			return 0, false
		}
		c.awaitCall()
		const before, longest = time.Millisecond, 150 * time.Millisecond
		time.Sleep(time.Duration(random.Int64N(int64(before))))
		require.NoError(p.t, stop(c.cmd.Process))
		var expiring sync.WaitGroup
		if expire != nil {
			expiring.Go(expire) // a process that is paused in a transaction may keep it waiting
		}
		time.Sleep(time.Duration(random.Int64N(int64(longest)))) // others may take its place
		require.NoError(p.t, goOn(c.cmd.Process))
		expiring.Wait()
		return one.n, true
	}}
}

// process is a [state.Store] of a process.
type process struct {
	state.Store // nil: a history needs the methods below

	t     *testing.T
	n     int
	place string

	mu sync.Mutex
	// runs is nil before the first call, and after the end.
	runs *child
}

// child is one run of a process.
type child struct {
	cmd *exec.Cmd
	// calling is held during a call: a process does one thing at a time.
	calling sync.Mutex
	// begins is sent to when a call begins.
	begins chan struct{}
	// leased says that it may have a lease.
	leased atomic.Bool
	out    *json.Encoder
	in     *json.Decoder
	// killed is set before it is killed, and exited is closed when it has ended.
	killed atomic.Bool
	exited chan struct{}
}

// current returns the run of now, nil if there is none.
func (p *process) current() *child {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runs != nil {
		select {
		case <-p.runs.exited:
			p.runs = nil
		default:
		}
	}
	return p.runs
}

// started returns the run of now, or starts one.
func (p *process) started() (*child, error) {
	if c := p.current(); c != nil {
		return c, nil
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), writerVariable+"="+p.place)
	cmd.Stderr = os.Stderr
	processgroup.Own(cmd) // a group without a parent ends, also if it is paused
	to, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, out: json.NewEncoder(to), in: json.NewDecoder(from), begins: make(chan struct{}), exited: make(chan struct{})}
	go func() {
		_, _ = cmd.Process.Wait() // what it has written stays readable
		close(c.exited)
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs = c
	return c, nil
}

func (c *child) kill() {
	c.killed.Store(true)
	_ = c.cmd.Process.Kill() // it may have ended
	<-c.exited
}

// awaitCall waits until the process begins to do something, but not for long.
func (c *child) awaitCall() {
	const patience = 20 * time.Millisecond
	select {
	case <-c.begins:
	case <-time.After(patience):
	}
}

// call has the process do something. With of, it must be that run.
func (p *process) call(ctx context.Context, of *child, r request) (*child, *reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	c := of
	if c == nil {
		var err error
		if c, err = p.started(); err != nil {
			p.t.Errorf("writer %d does not start: %v", p.n, err)
			return nil, nil, err
		}
	} else if p.current() != c {
		return nil, nil, errGone
	}
	c.calling.Lock()
	defer c.calling.Unlock()
	var answer reply
	err := c.out.Encode(r)
	select {
	case c.begins <- struct{}{}:
	default: // nobody waits for that
	}
	if err == nil {
		err = c.in.Decode(&answer)
	}
	if err != nil {
		<-c.exited // from now on, it does nothing
		if !c.killed.Load() {
			p.t.Errorf("writer %d has ended by itself: %v", p.n, err)
		}
		return nil, nil, errKilled
	}
	return c, &answer, answer.err()
}

func (p *process) Create(ctx context.Context, name state.StackName, checkpoint []byte) error {
	_, _, err := p.call(ctx, nil, request{Do: "create", Stack: name, Content: checkpoint})
	return err
}

func (p *process) Load(ctx context.Context, name state.StackName) (*state.Contents, error) {
	_, a, err := p.call(ctx, nil, request{Do: "load", Stack: name})
	if err != nil {
		return nil, err
	}
	return a.contents(), nil
}

func (p *process) Break(ctx context.Context, name state.StackName) error {
	_, _, err := p.call(ctx, nil, request{Do: "break", Stack: name})
	return err
}

func (p *process) Lease(ctx context.Context, name state.StackName, holder state.Holder) (state.Lease, error) {
	l, _, err := p.take(ctx, request{Do: "lease", Stack: name, Holder: holder})
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (p *process) take(ctx context.Context, r request) (*processLease, *reply, error) {
	c, a, err := p.call(ctx, nil, r)
	if err != nil {
		return nil, nil, err
	}
	c.leased.Store(true)
	return &processLease{process: p, child: c, id: a.Lease, token: a.Token}, a, nil
}

func (p *process) LeaseAndLoad(ctx context.Context, name state.StackName, holder state.Holder) (state.Lease, *state.Contents, error) {
	l, a, err := p.take(ctx, request{Do: "lease and load", Stack: name, Holder: holder})
	if err != nil {
		return nil, nil, err
	}
	return l, a.contents(), nil
}

// processLease is a lease that a process has.
type processLease struct {
	state.Lease // nil: a history needs only the parts below

	process *process
	child   *child
	id      int
	token   uint64
}

func (l *processLease) call(ctx context.Context, r request) (*reply, error) {
	r.Lease = l.id
	_, a, err := l.process.call(ctx, l.child, r)
	return a, err
}

func (l *processLease) Token() uint64 { return l.token }

func (l *processLease) Load(ctx context.Context) (*state.Contents, error) {
	a, err := l.call(ctx, request{Do: "leased load"})
	if err != nil {
		return nil, err
	}
	return a.contents(), nil
}

func (l *processLease) Reserve(ctx context.Context) error {
	_, err := l.call(ctx, request{Do: "reserve"})
	return err
}

func (l *processLease) Append(ctx context.Context, sequence uint64, record []byte) error {
	_, err := l.call(ctx, request{Do: "append", Sequence: sequence, Content: record})
	return err
}

func (l *processLease) Checkpoint(ctx context.Context, sequence uint64, checkpoint []byte) error {
	_, err := l.call(ctx, request{Do: "checkpoint", Sequence: sequence, Content: checkpoint})
	return err
}

func (l *processLease) Release(ctx context.Context) error {
	_, err := l.call(context.WithoutCancel(ctx), request{Do: "release"})
	l.child.leased.Store(false)
	return err
}
