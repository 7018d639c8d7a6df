// Command store measures what backends add to deployments: it appends what the engine does for the first
// update of a stack, and opens and closes the stack as an update without changes does, with its history and the
// record of the run, with 0, 5, and 50 ms of round trip between client and server. The server of S3 is in this process, unless a
// flag names a bucket of another; a flag names the one of PostgreSQL. Neither has TLS. The times of the file backend are the
// baseline.
//
//	go run -C bench ./store [-resources 1000] [-s3 URL] [-postgres URL] [-json]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"net"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/bench/internal/figures"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/postgres"
	"github.com/husk-dev/husk/internal/backend/s3"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/testkit/faultproxy"
	"github.com/husk-dev/husk/internal/testkit/s3test"
)

const (
	// parallel is how many resources are worked on at once, as by default.
	parallel = 16
	// work is the time that a provider takes for a resource: without it, no deployment would ever wait for it.
	work = 20 * time.Millisecond
	// mostTimes is how many times the local time a first update may take at 5 ms.
	mostTimes = 3
	goalAt    = 5 * time.Millisecond
	// mostTrips is how many round trips an update without changes may add.
	mostTrips = 2
	// recordSize is the size of the record of a run, in bytes.
	recordSize = 8 << 10
	// attempts is how many updates without changes are made. The fastest counts.
	attempts = 5
)

var roundTrips = []time.Duration{0, goalAt, 50 * time.Millisecond}

func main() {
	resources := flag.Int("resources", 1000, "number of resources")
	bucket := flag.String("s3", "", "URL of a bucket, as for husk login, in which backups of a stack stay; without it, the server of S3 is in this process")
	server := flag.String("postgres", "", "URL of a PostgreSQL database, in which the schema husk_bench is made")
	figures.Main("store", func(ctx context.Context) ([]figures.Figure, error) { return measure(ctx, *resources, *bucket, *server) })
}

func measure(ctx context.Context, resources int, bucket, server string) (all []figures.Figure, err error) {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	local, err := run(ctx, backend.Files(dir, filestore.New(dir)), resources)
	if err != nil {
		return nil, err
	}
	all = append(all, local.figures("file", local, 0)...)

	if bucket == "" {
		fake := httptest.NewServer(s3test.New())
		defer fake.Close()
		for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
			if err := os.Setenv(name, "bench"); err != nil {
				return nil, err
			}
		}
		bucket = s3test.URL(fake)
	}
	s3Server, err := remoteBucket(bucket)
	if err != nil {
		return nil, err
	}
	remote := []remote{s3Server}
	if server != "" {
		u, err := url.Parse(server)
		if err != nil {
			return nil, err
		}
		target := u.Host
		if u.Port() == "" {
			target = net.JoinHostPort(u.Host, "5432")
		}
		query := u.Query()
		query.Set("schema", "husk_bench")
		u.RawQuery = query.Encode()
		remote = append(remote, remotes(target, u))
	}
	for _, r := range remote {
		for _, roundTrip := range roundTrips {
			figures, err := r.measure(ctx, dir, roundTrip, resources, local)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.name, err)
			}
			all = append(all, figures...)
		}
	}
	return all, nil
}

// remote is a kind of backend, whose server is reached through a proxy.
type remote struct {
	name, target string
	open         backend.Opener
	url          func(address string) string
}

// remoteBucket returns the backend of the URL of a bucket.
func remoteBucket(bucket string) (remote, error) {
	u, err := url.Parse(bucket)
	if err != nil {
		return remote{}, err
	}
	query := u.Query()
	target := strings.TrimPrefix(query.Get("endpoint"), "http://")
	if target == "" {
		return remote{}, errors.New("the URL of the bucket names no endpoint")
	}
	return remote{"s3", target, s3.Open, func(address string) string {
		query.Set("endpoint", "http://"+address)
		through := *u
		through.RawQuery = query.Encode()
		return through.String()
	}}, nil
}

func remotes(target string, u *url.URL) remote {
	return remote{"postgres", target, postgres.Open, func(address string) string {
		through := *u
		through.Host = address
		return through.String()
	}}
}

func (r remote) measure(ctx context.Context, dir string, roundTrip time.Duration, resources int, local times) ([]figures.Figure, error) {
	proxy, err := faultproxy.New(r.target)
	if err != nil {
		return nil, err
	}
	defer proxy.Close()
	b, err := r.open(ctx, named.ByOperator(r.url(proxy.Address()), "a flag"), dir)
	if err != nil {
		return nil, err
	}
	if b.Close != nil {
		defer b.Close()
	}
	if err := b.Check(ctx); err != nil { // makes the tables, and a connection
		return nil, err
	}
	proxy.Delay(roundTrip)
	is, err := run(ctx, b, resources)
	if err != nil {
		return nil, err
	}
	return is.figures(fmt.Sprintf("%s, %v", r.name, roundTrip), local, roundTrip), nil
}

// times are the times of a first update and an update without changes.
type times struct{ first, unchanged time.Duration }

func (t times) figures(name string, local times, roundTrip time.Duration) []figures.Figure {
	goal := 0.0
	if roundTrip == goalAt {
		goal = mostTimes
	}
	out := []figures.Figure{
		figures.Of(name+": first update", t.first.Seconds(), "s", 0),
		figures.Of(name+": of the local time", float64(t.first)/float64(local.first), "times", goal),
		figures.Of(name+": without changes", float64(t.unchanged.Microseconds())/1000, "ms", 0),
	}
	if roundTrip == roundTrips[len(roundTrips)-1] { // the work weighs least then
		trips := math.Floor(float64(t.unchanged) / float64(roundTrip)) // the rest is work
		out = append(out, figures.Of(name+": without changes", trips, "round trips", mostTrips))
	}
	return out
}

var stack = state.StackName{Project: "bench", Name: "store"}

// noKeys are for a stack without secrets.
func noKeys(dir string) secrets.Keys {
	return secrets.Keys{
		LookupEnv: func(string) (string, bool) { return "", false },
		ReadFile:  os.ReadFile,
		ConfigDir: func() (string, error) { return dir, nil },
		KeyMade:   func(string) {},
	}
}

func run(ctx context.Context, b *backend.Backend, resources int) (t times, err error) {
	dir, err := os.MkdirTemp("", "keys")
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	keys := noKeys(dir)
	if err := state.Create(ctx, b.State, stack, keys); err != nil {
		return t, err
	}
	if err := b.Modules.Put(ctx, backend.Digest(module), func() ([]byte, error) { return module, nil }); err != nil {
		return t, err
	}
	begin := time.Now()
	if err := update(ctx, b, keys, resources); err != nil {
		return t, err
	}
	t.first = time.Since(begin)
	for range attempts {
		begin = time.Now()
		if err := update(ctx, b, keys, 0); err != nil {
			return t, err
		}
		if is := time.Since(begin); t.unchanged == 0 || is < t.unchanged {
			t.unchanged = is
		}
	}
	lease, err := b.State.Lease(ctx, stack, state.Holder{})
	if err != nil {
		return t, err
	}
	return t, errors.Join(lease.Remove(ctx), lease.Release(ctx))
}

// module is the module that makes the stack's resources.
var module = make([]byte, 1<<20)

// update opens the stack, creates resources as the engine does, and closes it with the data that a run saves.
func update(ctx context.Context, b *backend.Backend, keys secrets.Keys, resources int) (err error) {
	begun := time.Now().UTC()
	st, err := state.Open(ctx, b.State, stack, keys, state.Holder{PID: os.Getpid()})
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, st.CloseWith(ctx, func(l state.Lease, err error) error {
			updates, readErr := b.State.History(backend.WithToken(ctx, l.Token()), stack)
			ended := b.Release(ctx, stack, l, backend.Ending{
				Updates: append(updates, fmt.Appendf(nil, `{"kind":"up","result":"succeeded","startTime":%q}`, begun)),
				Run:     begun.Format("20060102T150405.000Z") + "-up-1", Record: make([]byte, recordSize), Modules: []string{backend.Digest(module)},
			})
			return errors.Join(err, readErr, ended.Err, ended.Lost)
		}))
	}()
	errs := make([]error, parallel)
	var workers sync.WaitGroup
	for w := range parallel {
		workers.Go(func() {
			for i := w; i < resources && errs[w] == nil; i += parallel {
				errs[w] = create(ctx, st, i)
			}
		})
	}
	workers.Wait()
	return errors.Join(errs...)
}

func create(ctx context.Context, st *state.Stack, i int) error {
	u := urn.New("store", "bench", "", "bench:index:Thing", fmt.Sprintf("thing-%07d", i))
	inputs := property.NewMap(
		property.Entry{Key: "name", Value: property.String(fmt.Sprintf("the thing called %d", i))},
		property.Entry{Key: "text", Value: property.String("a few words, as resources have them")},
	)
	r := &state.Resource{URN: u, Type: u.Type(), Custom: true, Inputs: inputs}
	op := st.NextOp()
	if err := st.Append(ctx, state.Entry{state.BeginOperation{Op: op, Type: state.OperationCreating, Resource: r}}); err != nil {
		return err
	}
	time.Sleep(work)
	done := *r
	done.ID, done.Outputs = fmt.Sprint("id-", i), inputs
	return st.Append(ctx, state.Entry{state.EndOperation{Op: op}, state.PutResource{Serial: st.NextSerial(), Resource: &done}})
}
