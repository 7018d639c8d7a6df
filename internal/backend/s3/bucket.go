package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
)

const (
	// attemptTime bounds one request, and transferRate, in bytes per second, what a large object adds to that.
	attemptTime  = 15 * time.Second
	transferRate = 256 << 10
	// retryTime bounds all attempts of a request.
	retryTime = time.Minute
	// firstPause is the pause after the first attempt. It doubles up to lastPause.
	firstPause, lastPause = 50 * time.Millisecond, 2 * time.Second
	// maxAtOnce bounds requests that one step sends at the same time.
	maxAtOnce = 16
)

// errCondition says that an object is not as a write expects it.
var errCondition = errors.New("the object was changed meanwhile")

// bucket sends requests. It is safe for concurrent use.
type bucket struct {
	client              *minio.Core
	name, prefix, place string
	// dir is for files about the bucket on this machine, empty if there are none.
	dir string

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

// do sends a request until it is answered.
func (b *bucket) do(ctx context.Context, size int, request func(ctx context.Context) error) error {
	limit := attemptTime + time.Duration(size/transferRate)*time.Second
	end, pause := time.Now().Add(retryTime+limit), firstPause
	maybe := false // an attempt may have taken effect
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		attempt, cancel := context.WithTimeout(ctx, limit)
		err := request(attempt)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		said := minio.ToErrorResponse(err)
		switch {
		case said.StatusCode == http.StatusPreconditionFailed, said.Code == minio.PreconditionFailed:
			return errCondition
		case said.StatusCode == http.StatusNotFound && said.Code != minio.NoSuchBucket:
			return fmt.Errorf("%w (%s)", fs.ErrNotExist, b.place)
		case isFull(said) && !maybe:
			return &state.NoSpaceError{File: b.place, Cause: err}
		}
		// 409 is the answer to two conditional writes at the same time.
		again := said.StatusCode == 0 || said.StatusCode >= 500 || said.StatusCode == http.StatusConflict ||
			said.StatusCode == http.StatusTooManyRequests || said.StatusCode == http.StatusRequestTimeout
		if !again || isFull(said) {
			return fmt.Errorf("the backend %s: %w", b.place, err)
		}
		if time.Now().After(end) {
			return backend.Unreachable(b.place, err)
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

// fullCodes are those of MinIO and Ceph for a bucket whose quota is used up.
var fullCodes = []string{"XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "QuotaExceeded"}

// isFull reports whether the server has refused a write because it has no space for it.
func isFull(said minio.ErrorResponse) bool {
	return said.StatusCode == http.StatusInsufficientStorage || slices.Contains(fullCodes, said.Code)
}

// get reads an object. The error is fs.ErrNotExist if there is none.
func (b *bucket) get(ctx context.Context, key string) (*object, error) {
	var out *object
	err := b.do(ctx, maxCheckpoint, func(ctx context.Context) error {
		body, info, header, err := b.client.GetObject(ctx, b.name, b.prefix+key, minio.GetObjectOptions{})
		if err != nil {
			return err
		}
		defer body.Close()
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
	return out, err
}

// maxCheckpoint is a size of large objects, which sets the time that reading one may take.
const maxCheckpoint = 64 << 20

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
	err = b.do(ctx, len(content), func(ctx context.Context) error {
		info, err := b.client.PutObject(ctx, b.name, b.prefix+key, bytes.NewReader(content), int64(len(content)), "", "", o)
		version = info.ETag
		return err
	})
	if condition != ifAbsent && condition != unconditional && errors.Is(err, fs.ErrNotExist) {
		err = errCondition
	}
	return version, err
}

func (b *bucket) remove(ctx context.Context, key string) error {
	err := b.do(ctx, 0, func(ctx context.Context) error {
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
		err := b.do(ctx, 0, func(ctx context.Context) error {
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

// probe tries whether the server honours the conditions that keep two writers apart.
func (b *bucket) probe(ctx context.Context) error {
	key := path.Join("probe", rand.Text())
	refuse := func(what string) error {
		return fmt.Errorf("the server of %s %s: it cannot keep two runs from overwriting each other's state; use one that honours If-None-Match and If-Match for writes, such as Amazon S3, MinIO, or Ceph", b.place, what)
	}
	first, err := b.put(ctx, key, []byte("first"), ifAbsent)
	if err != nil {
		return fmt.Errorf("writing to %s: %w; check the bucket, the region, and the rights s3:GetObject, s3:PutObject, s3:DeleteObject, and s3:ListBucket", b.place, err)
	}
	defer func() { _ = b.remove(context.WithoutCancel(ctx), key) }()
	if _, err := b.put(ctx, key, []byte("again"), ifAbsent); !errors.Is(err, errCondition) {
		return errors.Join(refuse("creates an object that exists (it ignores If-None-Match)"), err)
	}
	second, err := b.put(ctx, key, []byte("second"), first)
	if err != nil {
		return errors.Join(refuse("refuses to replace an object of a known version (If-Match)"), err)
	}
	if _, err := b.put(ctx, key, []byte("third"), first); !errors.Is(err, errCondition) {
		return errors.Join(refuse("replaces an object of another version (it ignores If-Match)"), err)
	}
	is, err := b.get(ctx, key)
	if err != nil {
		return err
	}
	if string(is.content) != "second" || strings.Trim(is.version, `"`) != strings.Trim(second, `"`) {
		return refuse("returns another version than was written last")
	}
	keys, err := b.list(ctx, "probe/")
	if err != nil {
		return fmt.Errorf("listing %s: %w; check the right s3:ListBucket", b.place, err)
	}
	for _, k := range keys {
		if "probe/"+k == key {
			return nil
		}
	}
	return refuse("does not list an object that was just written")
}
