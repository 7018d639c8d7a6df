package s3_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/backendtest"
	"github.com/husk-dev/husk/internal/testkit/faultproxy"
	"github.com/husk-dev/husk/internal/testkit/miniotest"
)

// startMinIO starts a server, whose administrator's credentials the test uses.
func startMinIO(t *testing.T, settings miniotest.Settings) *miniotest.Server {
	s := miniotest.Start(t, settings)
	useKey(t, s.User, s.Password, "")
	return s
}

// TestMinIO runs the suites on a server whose connections fail, which is killed, and which is paused while clients give up
// their connections, so that what they have sent takes effect late.
func TestMinIO(t *testing.T) {
	s := startMinIO(t, miniotest.Settings{})
	s.MakeBucket(t, "team", minio.MakeBucketOptions{})
	suites(t, s.URL("team", ""), func(proxies *[]*faultproxy.Proxy) []backendtest.Fault {
		return append(connectionFaults(proxies), backendtest.Fault{
			Every: 6,
			Cause: func(*mathrand.Rand) { s.Restart(t) },
		}, backendtest.Fault{
			Every: 2,
			Cause: func(random *mathrand.Rand) {
				s.Pause()
				time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
				for _, p := range *proxies {
					p.Cut()
				}
				s.Continue()
			},
		})
	})
}

// TestMinIOWithVersions runs the suites in a bucket that keeps earlier versions of objects, and lets nobody remove them for a
// day.
func TestMinIOWithVersions(t *testing.T) {
	s := startMinIO(t, miniotest.Settings{})
	client := s.MakeBucket(t, "locked", minio.MakeBucketOptions{ObjectLocking: true})
	versions, err := client.GetBucketVersioning(t.Context(), "locked")
	require.NoError(t, err)
	require.True(t, versions.Enabled())
	mode, days, unit := minio.Compliance, uint(1), minio.Days
	require.NoError(t, client.SetBucketObjectLockConfig(t.Context(), "locked", &mode, &days, &unit))
	suites(t, s.URL("locked", ""), connectionFaults)
}

// TestMinIOFullDisk fills the server's disk with other objects. For a second the server does not know that it is full, and
// says of what it cannot write that it has not arrived as a whole.
func TestMinIOFullDisk(t *testing.T) {
	const diskSize = 64 << 20
	s := startMinIO(t, miniotest.Settings{DiskSize: diskSize})
	client := s.MakeBucket(t, "team", minio.MakeBucketOptions{})
	var ballast []string
	write := func(size int) error {
		name := fmt.Sprint("ballast/", len(ballast))
		_, err := client.PutObject(t.Context(), "team", name, bytes.NewReader(make([]byte, size)), int64(size), minio.PutObjectOptions{DisableMultipart: true})
		if err == nil {
			ballast = append(ballast, name)
		}
		return err
	}
	// fill writes as much as there is space for, and reports whether that is anything.
	fill := func() (some bool) {
		for size := diskSize / 8; size > 0; size /= 4 {
			for write(size) == nil {
				some = true
			}
		}
		return some
	}
	const knows = 1500 * time.Millisecond // how long the server may take to look at its disk again
	backendtest.FullDisk(t, openURL(t, at(t, s.URL("team", ""), "husk", "")), func(full bool) {
		if full {
			for fill() {
				time.Sleep(knows)
			}
			return
		}
		for _, name := range ballast {
			require.NoError(t, client.RemoveObject(t.Context(), "team", name, minio.RemoveObjectOptions{}))
		}
		for write(1<<20) != nil {
			time.Sleep(knows / 10)
		}
	})
}

// allow returns a policy that allows something.
func allow(t *testing.T, resources []string, actions ...string) string {
	text, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": []any{
		map[string]any{"Effect": "Allow", "Action": actions, "Resource": resources},
	}})
	require.NoError(t, err)
	return string(text)
}

// TestMinIORefuses checks that an error names what a user with other rights, or another setting, has to change.
func TestMinIORefuses(t *testing.T) {
	s := startMinIO(t, miniotest.Settings{})
	s.MakeBucket(t, "team", minio.MakeBucketOptions{})
	// use has the test use credentials with the rights of a policy.
	use := func(t *testing.T, policy string) {
		assumed, err := credentials.NewSTSAssumeRole("http://"+s.Address, credentials.STSAssumeRoleOptions{AccessKey: s.User, SecretKey: s.Password, Policy: policy, Location: miniotest.Region})
		require.NoError(t, err)
		v, err := assumed.GetWithContext(s.Client(t).CredContext())
		require.NoError(t, err)
		useKey(t, v.AccessKeyID, v.SecretAccessKey, v.SessionToken)
	}
	all := []string{"arn:aws:s3:::team", "arn:aws:s3:::team/*"}
	rights := []string{"s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:ListBucket"}
	name := state.StackName{Project: "p", Name: "s"}
	for i, right := range rights {
		t.Run("without "+right, func(t *testing.T) {
			use(t, allow(t, all, append(append([]string{}, rights[:i]...), rights[i+1:]...)...))
			err := openURL(t, at(t, s.URL("team", ""), rand.Text(), "")).Check(t.Context())
			require.ErrorContains(t, err, "the credentials lack the right "+right+"; husk needs "+strings.Join(rights, ", "))
		})
	}
	t.Run("reading", func(t *testing.T) {
		url := at(t, s.URL("team", ""), "reading", "")
		require.NoError(t, openURL(t, url).State.Create(t.Context(), name, []byte(`{"is":"there"}`)))
		use(t, allow(t, all, "s3:GetObject", "s3:ListBucket"))
		b := openURL(t, url)
		c, err := b.State.Load(t.Context(), name)
		require.NoError(t, err)
		require.JSONEq(t, `{"is":"there"}`, string(c.Checkpoint))
		names, err := b.State.List(t.Context())
		require.NoError(t, err)
		require.Equal(t, []state.StackName{name}, names)
		_, err = b.State.Lease(t.Context(), name, state.Holder{PID: 1})
		require.ErrorContains(t, err, "lack the right s3:PutObject")
	})
	t.Run("a prefix", func(t *testing.T) {
		use(t, allow(t, []string{"arn:aws:s3:::team", "arn:aws:s3:::team/mine/*"}, rights...))
		backendtest.Fencing(t, openURL(t, at(t, s.URL("team", ""), "mine", "")))
		err := openURL(t, at(t, s.URL("team", ""), "others", "")).Check(t.Context())
		require.ErrorContains(t, err, "lack the right s3:PutObject")
	})
	for what, test := range map[string]struct{ url, key, secret, advice string }{
		"no such bucket": {s.URL("nobody", ""), s.User, s.Password, "check the bucket in the URL"},
		"bucket's name":  {s.URL("No_Bucket", ""), s.User, s.Password, "check the bucket in the URL"},
		"key":            {s.URL("team", ""), "somebody", s.Password, "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
		"secret":         {s.URL("team", ""), s.User, "secret", "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
		"region":         {strings.Replace(s.URL("team", ""), "region=us-east-1", "region=eu-central-1", 1), s.User, s.Password, "set region=us-east-1 in the URL"},
		"TLS setting":    {strings.Replace(s.URL("team", ""), "disableSSL=true", "disableSSL=false", 1), s.User, s.Password, "add disableSSL=true to the URL"},
	} {
		t.Run("wrong "+what, func(t *testing.T) {
			useKey(t, test.key, test.secret, "")
			b := openURL(t, test.url)
			_, err := b.State.List(t.Context())
			require.ErrorContains(t, err, test.advice)
			require.ErrorContains(t, b.Check(t.Context()), test.advice)
		})
	}
}

// TestMinIOWithTLS has a server whose certificate is that of an authority which only a file names.
func TestMinIOWithTLS(t *testing.T) {
	certificate, key := miniotest.Certificate(t)
	s := startMinIO(t, miniotest.Settings{Certificate: certificate, Key: key})
	ctx := t.Context()
	require.ErrorContains(t, openURL(t, s.URL("team", "")).Check(ctx), "set SSL_CERT_FILE")
	file := filepath.Join(t.TempDir(), "authority.pem")
	require.NoError(t, os.WriteFile(file, certificate, 0o600))
	t.Setenv("SSL_CERT_FILE", file)
	require.ErrorContains(t, openURL(t, s.URL("team", "")).Check(ctx), "check the bucket in the URL")
	s.MakeBucket(t, "team", minio.MakeBucketOptions{})
	b := openURL(t, s.URL("team", ""))
	require.NoError(t, b.Check(ctx))
	backendtest.Fencing(t, b)
}
