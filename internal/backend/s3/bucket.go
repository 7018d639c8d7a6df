package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/base/intake"
)

const (
	// attemptTime bounds one attempt of a request, and transferRate, in bytes per second, what a large object adds to that.
	attemptTime  = 15 * time.Second
	transferRate = 256 << 10
	// retryTime bounds all attempts of a request, and firstTime those before the server has ever answered.
	retryTime, firstTime = time.Minute, 5 * time.Second
	// firstPause is the pause after the first attempt. It doubles up to lastPause.
	firstPause, lastPause = 50 * time.Millisecond, 2 * time.Second
	// maxAtOnce bounds requests that one step sends at the same time.
	maxAtOnce = 16
)

// errCondition says that an object is not as a write expects it.
var errCondition = errors.New("the object was changed meanwhile")

// errMaybeWritten is errCondition after an attempt whose answer was lost, which may have changed the object.
var errMaybeWritten = fmt.Errorf("%w", errCondition)

// bucket sends requests. It is safe for concurrent use.
type bucket struct {
	client              *minio.Core
	name, prefix, place string
	// dir is for files about the bucket on this machine, empty if there are none.
	dir string
	// attemptTime bounds each attempt. It is a field for tests.
	attemptTime time.Duration

	// reached says that the server has answered before, and signed that there are credentials for it.
	reached, signed atomic.Bool

	mu sync.Mutex
	// honest says that the server is known to honour the conditions of writes.
	honest bool
}

// object is one that was read.
type object struct {
	content []byte
	version string // its ETag
	// modified is when it was written, and now when it was read, by the clock of the server.
	modified, now time.Time
}

// The conditions of a write, beside a version.
const (
	ifAbsent      = ""
	unconditional = "*"
)

// do sends a request, which needs a right, until it is answered.
func (b *bucket) do(ctx context.Context, right string, size int, request func(ctx context.Context) error) error {
	return b.transfer(ctx, right, size, func(ctx context.Context, _ func(size int64)) error { return request(ctx) })
}

// transfer is do for a request that calls more when it knows the size of the answer, in bytes. An attempt has attemptTime until
// then.
func (b *bucket) transfer(ctx context.Context, right string, size int, request func(ctx context.Context, more func(size int64)) error) error {
	timeFor := func(size int64) time.Duration { return b.attemptTime + time.Duration(size/transferRate)*time.Second }
	begin, pause := time.Now(), firstPause
	maybe := false // an attempt may have taken effect
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		attempt, cancel := context.WithCancel(ctx)
		limit := time.AfterFunc(timeFor(int64(size)), cancel)
		err := b.known(attempt)
		if err == nil {
			err = request(attempt, func(size int64) { limit.Reset(timeFor(size)) })
		}
		limit.Stop()
		cancel()
		if err == nil {
			b.reached.Store(true)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		said := minio.ToErrorResponse(err)
		if said.StatusCode != 0 {
			b.reached.Store(true)
		}
		isRefused := said.StatusCode == http.StatusPreconditionFailed || said.Code == minio.PreconditionFailed
		switch {
		case isRefused && maybe:
			return errMaybeWritten
		case isRefused:
			return errCondition
		case said.StatusCode == http.StatusNotFound && said.Code != minio.NoSuchBucket:
			return fmt.Errorf("%w (%s)", fs.ErrNotExist, b.place)
		case isFull(said) && !maybe:
			return &state.NoSpaceError{File: b.place, Cause: err}
		}
		// 409 is the answer to two conditional writes at the same time.
		again := said.StatusCode == 0 && b.mayReach(err) || said.StatusCode >= 500 && said.StatusCode != http.StatusNotImplemented ||
			slices.Contains([]int{http.StatusConflict, http.StatusTooManyRequests, http.StatusRequestTimeout}, said.StatusCode) ||
			slices.Contains(brokenCodes, said.Code)
		last := retryTime + timeFor(int64(size))
		if !b.reached.Load() {
			last = firstTime
		}
		if !again || isFull(said) {
			return b.refused(err, right)
		}
		if time.Since(begin) > last {
			return backend.Unreachable(b.refused(err, right))
		}
		maybe = maybe || said.StatusCode == 0 || said.StatusCode >= 500
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
	}
}

// get reads an object. The error is fs.ErrNotExist if there is none.
func (b *bucket) get(ctx context.Context, key string) (*object, error) {
	var out *object
	var full error
	err := b.transfer(ctx, rightGet, 0, func(ctx context.Context, more func(size int64)) error {
		body, info, header, err := b.client.GetObject(ctx, b.name, b.prefix+key, minio.GetObjectOptions{})
		if err != nil {
			return err
		}
		defer body.Close()
		more(info.Size)
		if full = intake.Room(ctx, info.Size); full != nil {
			return nil
		}
		content, err := io.ReadAll(body)
		if err != nil {
			return err
		}
		out = &object{content: content, version: info.ETag, modified: info.LastModified}
		if out.now, err = http.ParseTime(header.Get("Date")); err != nil {
			out.now = time.Now() // the server tells no time
		}
		return nil
	})
	if err == nil {
		err = full
	}
	return out, err
}

// put writes an object under a condition: its version, ifAbsent, or unconditional. It returns the new
// version. The error is errCondition if the condition does not hold, also if an attempt whose answer was
// lost has written the object.
func (b *bucket) put(ctx context.Context, key string, content []byte, condition string) (version string, err error) {
	var o minio.PutObjectOptions
	switch condition {
	case ifAbsent:
		o.SetMatchETagExcept("*")
	case unconditional:
	default:
		o.SetMatchETag(condition)
	}
	err = b.do(ctx, rightPut, len(content), func(ctx context.Context) error {
		info, err := b.client.PutObject(ctx, b.name, b.prefix+key, bytes.NewReader(content), int64(len(content)), "", "", o)
		version = info.ETag
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = errCondition
		if condition == ifAbsent || condition == unconditional {
			err = &refusedError{b.place, errors.New("the server has no place to write to"), "check the endpoint and the bucket in the URL"}
		}
	}
	return version, err
}

func (b *bucket) remove(ctx context.Context, key string) error {
	err := b.do(ctx, rightDelete, 0, func(ctx context.Context) error {
		return b.client.RemoveObject(ctx, b.name, b.prefix+key, minio.RemoveObjectOptions{})
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// list returns the keys below a directory, without that, in order.
func (b *bucket) list(ctx context.Context, dir string) ([]string, error) {
	var keys []string
	after := ""
	for {
		var page minio.ListBucketV2Result
		err := b.do(ctx, rightList, 0, func(ctx context.Context) error {
			// minio-go gives this request no context.
			type answer struct {
				page minio.ListBucketV2Result
				err  error
			}
			answers, from := make(chan answer, 1), after
			go func() {
				page, err := b.client.ListObjectsV2(b.name, b.prefix+dir, "", from, "", pageSize)
				answers <- answer{page, err}
			}()
			select {
			case got := <-answers:
				page = got.page
				return got.err
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		if err != nil {
			return nil, err
		}
		for _, o := range page.Contents {
			keys = append(keys, strings.TrimPrefix(o.Key, b.prefix+dir))
		}
		if !page.IsTruncated {
			return keys, nil
		}
		after = page.NextContinuationToken
	}
}

const pageSize = 1000 // the most that S3 returns

// each calls do for numbers below n, several at the same time, and returns the errors.
func each(n int, do func(i int) error) error {
	errs := make([]error, n)
	free := make(chan struct{}, maxAtOnce)
	var all sync.WaitGroup
	for i := range n {
		free <- struct{}{}
		all.Go(func() {
			errs[i] = do(i)
			<-free
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
