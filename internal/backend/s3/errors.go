package s3

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"
)

// The rights that requests need.
const (
	rightGet    = "s3:GetObject"
	rightPut    = "s3:PutObject"
	rightDelete = "s3:DeleteObject"
	rightList   = "s3:ListBucket"
)

// fullCodes are the codes of MinIO and Ceph for a bucket whose quota is used up.
var fullCodes = []string{"XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "QuotaExceeded"}

// brokenCodes are the codes of S3 for a request that has not arrived as a whole. MinIO also says so when its disk has become full
// in the middle of it.
var brokenCodes = []string{"IncompleteBody", "RequestTimeout"}

// isFull reports whether the server has refused a write because it has no space for it.
func isFull(said minio.ErrorResponse) bool {
	return said.StatusCode == http.StatusInsufficientStorage || slices.Contains(fullCodes, said.Code)
}

// errNoCredentials says that there is nothing to sign requests with.
var errNoCredentials = errors.New("there are no credentials")

// known returns an error if there are no credentials. A server answers as to anybody then.
func (b *bucket) known(ctx context.Context) error {
	if b.signed.Load() {
		return nil
	}
	found := make(chan error, 1)
	go func() { // the machine may be asked for them, which takes no context
		v, err := b.client.GetCreds()
		if err == nil && v.AccessKeyID == "" {
			err = errNoCredentials
		}
		found <- err
	}()
	select {
	case err := <-found:
		b.signed.Store(err == nil)
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// mayReach reports whether another attempt may be answered after one that was not: before the first answer, a name or a port may
// be wrong, and a certificate or the kind of a connection does not change.
func (b *bucket) mayReach(err error) bool {
	var connecting *net.OpError
	if errors.As(err, &connecting) && connecting.Op == "dial" {
		return b.reached.Load()
	}
	var certificate *tls.CertificateVerificationError
	var noTLS tls.RecordHeaderError
	return !errors.Is(err, errNoCredentials) && !errors.As(err, &certificate) && !errors.As(err, &noTLS) && !errors.Is(err, http.ErrSchemeMismatch)
}

// refusedError is the error of a refused or unanswered request, with advice for the user.
type refusedError struct {
	place  string
	cause  error
	advice string
}

func (e *refusedError) Error() string {
	text := fmt.Sprintf("the backend %s: %s", e.place, strings.TrimSuffix(e.cause.Error(), "."))
	if e.advice != "" {
		text += "; " + e.advice
	}
	return text
}

func (e *refusedError) Unwrap() error { return e.cause }

// refused returns the error of a request that needs a right.
func (b *bucket) refused(err error, right string) error {
	var asked *url.Error
	if errors.As(err, &asked) {
		err = asked.Err // without the address of the request, which is in the place
	}
	what := advice(err, right)
	if what == "" && !b.reached.Load() {
		what = checkEndpoint
	}
	return &refusedError{b.place, err, what}
}

const (
	checkCredentials = "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the profile in ~/.aws"
	checkEndpoint    = "check the endpoint in the URL, and whether it speaks TLS or has disableSSL=true"
)

// advice says what the user can do about an error, "" if that is not known.
func advice(err error, right string) string {
	said := minio.ToErrorResponse(err)
	switch said.Code {
	case minio.NoSuchBucket, "InvalidBucketName":
		return "check the bucket in the URL, or make it"
	case "InvalidAccessKeyId", "SignatureDoesNotMatch":
		return checkCredentials
	case "ExpiredToken", "InvalidToken", "InvalidTokenId", "TokenRefreshRequired":
		return "get new credentials, and check AWS_SESSION_TOKEN"
	case "AuthorizationHeaderMalformed", "PermanentRedirect", "TemporaryRedirect", "InvalidRegion", "IllegalLocationConstraintException":
		if said.Region != "" {
			return "set region=" + said.Region + " in the URL"
		}
		return "check the region in the URL"
	case "RequestTimeTooSkewed":
		return "set the clock of this machine"
	}
	var certificate *tls.CertificateVerificationError
	var noTLS tls.RecordHeaderError
	var connecting *net.OpError
	switch {
	case said.StatusCode == http.StatusForbidden:
		return fmt.Sprintf("the credentials lack the right %s; husk needs %s", right, strings.Join([]string{rightGet, rightPut, rightDelete, rightList}, ", "))
	case errors.Is(err, errNoCredentials):
		return "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in ~/.aws"
	case errors.As(err, &certificate):
		return "if an authority of your own has signed the certificate, set SSL_CERT_FILE to a file with the authority's certificate"
	case errors.As(err, &noTLS), errors.Is(err, http.ErrSchemeMismatch):
		return "if the server speaks no TLS, add disableSSL=true to the URL"
	case errors.As(err, &connecting) && connecting.Op == "dial":
		return checkEndpoint
	case said.StatusCode == http.StatusBadRequest && strings.Contains(said.Error(), "HTTPS"):
		return "the server speaks TLS: remove disableSSL from the URL"
	}
	return ""
}
