package usertest

import (
	"testing"

	"github.com/minio/minio-go/v7"

	"github.com/husk-dev/husk/internal/testkit/miniotest"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
	"github.com/husk-dev/husk/internal/testkit/s3test"
)

// Backends are the servers that a team keeps its stacks in.
type Backends struct {
	// S3 is the URL of a bucket, to which parameters can be added.
	S3 string
	// MinIO is the URL of a bucket of a MinIO server, to which parameters can be added, and empty where that is not installed.
	MinIO string
	// PostgreSQL is the URL of a database, to which parameters can be added, and empty where PostgreSQL is not
	// installed.
	PostgreSQL string
	// Environment has the credentials.
	Environment []string
}

// StartBackends starts servers, which end with the test.
func StartBackends(t *testing.T) *Backends {
	t.Helper()
	b := &Backends{
		S3:          s3test.Start(t, s3test.New()),
		Environment: []string{"AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret"},
	}
	if miniotest.Installed() {
		minioServer := miniotest.Start(t, miniotest.Settings{})
		minioServer.MakeBucket(t, "team", minio.MakeBucketOptions{})
		b.MinIO = minioServer.URL("team", "")
		b.Environment = []string{"AWS_ACCESS_KEY_ID=" + minioServer.User, "AWS_SECRET_ACCESS_KEY=" + minioServer.Password} // the other one knows nobody
	}
	if postgrestest.Installed() {
		b.PostgreSQL = postgrestest.Start(t).URL("postgres", 0)
	}
	return b
}
