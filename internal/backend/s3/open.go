// Package s3 keeps stacks in a bucket of S3, or of a server with the same interface.
//
// A stack has one object that is its head: it names the checkpoint, who has the lease, and the journals of
// records after the checkpoint. Every change of it is conditional on the version that was read (If-Match).
// A record is an object of its own, under the number that it has in the journal of its lease, and is only
// created if there is none (If-None-Match). Whoever takes a lease away puts a seal where the next record of
// the former holder would go, so the journal itself fences that holder.
package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/base/named"
)

// Scheme is the scheme of the URLs that [Open] takes.
const Scheme = "s3"

var _ backend.Opener = Open

// parameters are the parameters that a URL may have, as in Pulumi.
var parameters = []string{"endpoint", "region", "s3ForcePathStyle", "use_path_style", "disableSSL", "disable_https", "profile", "awssdk"}

// regionPattern matches a region, which becomes part of a host name.
var regionPattern = regexp.MustCompile(`^[a-zA-Z0-9_-]*$`)

// credentialsFor returns the credentials for a URL, which there are only for one that the operator has named. Nobody can
// write to a bucket without any.
func credentialsFor(at named.URL, profile string) (*credentials.Credentials, error) {
	if !at.IsOperators() {
		return nil, errors.New("a bucket needs credentials, and this machine's credentials are for buckets that you name yourself: set HUSK_BACKEND_URL to this URL, or log in to it with husk login")
	}
	return credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{}, &credentials.FileAWSCredentials{Profile: profile}, &credentials.IAM{Client: &http.Client{Timeout: machineTime}},
	}), nil
}

// machineTime bounds the question for the credentials of a machine, which most machines do not have.
const machineTime = 5 * time.Second

// Open opens the backend of a URL such as s3://bucket/prefix?region=eu-central-1, with endpoint=host:port&s3ForcePathStyle=true
// for servers other than Amazon's. Credentials come from the environment, from the files in ~/.aws, or from the machine. A URL
// that a project has named gets none, which is an error. It does not connect yet.
func Open(_ context.Context, at named.URL, dir string) (*backend.Backend, error) {
	u, err := url.Parse(at.Text())
	if err != nil || u.Host == "" || u.User != nil {
		return nil, errors.New("the URL of the backend is not one of a bucket, which has the form s3://bucket/prefix?region=REGION; credentials are not part of it")
	}
	query := u.Query()
	creds, err := credentialsFor(at, query.Get("profile"))
	if err != nil {
		return nil, err
	}
	for name := range query {
		if !slices.Contains(parameters, name) {
			return nil, fmt.Errorf("the URL of the backend has the parameter %q, and husk knows %s", name, strings.Join(parameters, ", "))
		}
	}
	isSet := func(names ...string) (set bool, err error) {
		for _, name := range names {
			if value := query.Get(name); value != "" {
				if set, err = strconv.ParseBool(value); err != nil {
					return false, fmt.Errorf("the URL of the backend has %s=%q, and that must be true or false", name, value)
				}
			}
		}
		return set, nil
	}
	pathStyle, err := isSet("s3ForcePathStyle", "use_path_style")
	if err != nil {
		return nil, err
	}
	plain, err := isSet("disableSSL", "disable_https")
	if err != nil {
		return nil, err
	}
	endpoint, region := query.Get("endpoint"), query.Get("region")
	if rest, ok := strings.CutPrefix(endpoint, "http://"); ok {
		endpoint, plain = rest, true
	}
	endpoint = strings.TrimSuffix(strings.TrimPrefix(endpoint, "https://"), "/")
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION"} {
		if region == "" {
			region = at.Getenv(name)
		}
	}
	if !regionPattern.MatchString(region) {
		return nil, fmt.Errorf("the URL of the backend has the region %q, and a region is letters, digits, and \"-\"", region)
	}
	if endpoint == "" {
		if region == "" {
			return nil, errors.New("the URL of the backend names no region: add ?region=REGION, or set AWS_REGION")
		}
		endpoint = "s3." + region + ".amazonaws.com"
	}
	o := &minio.Options{Secure: !plain, Region: region, MaxRetries: 1, Creds: creds}
	if pathStyle {
		o.BucketLookup = minio.BucketLookupPath
	}
	client, err := minio.NewCore(endpoint, o)
	if err != nil {
		return nil, fmt.Errorf("the endpoint in the URL of the backend is wrong: %w", err)
	}
	prefix := strings.Trim(u.Path, "/")
	if prefix != "" {
		prefix += "/"
	}
	place := "s3://" + u.Host + "/" + strings.TrimSuffix(prefix, "/")
	if named := query.Get("endpoint"); named != "" {
		place += "?endpoint=" + named
	}
	b := &bucket{client: client, name: u.Host, prefix: prefix, place: place, dir: dir, attemptTime: attemptTime}
	s := &Store{b: b, held: make(map[state.StackName]held)}
	return &backend.Backend{Place: place, Dir: dir, Remote: true, State: s, End: s.end, Modules: modules{b}, KV: kv{s}, History: runs{s}, Check: b.check}, nil
}
