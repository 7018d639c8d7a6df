package pulumiprogram

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/state"
)

// An error names the resource that it is about, and no other: what the stack's configuration is to blame for has its place.
func TestErrorsNameWhatTheyAreAbout(t *testing.T) {
	const subject = `aws:s3/bucket:Bucket "logs"`
	failed := errors.New("it is no region")
	setting := source.Diagnostics{{File: "Pulumi.dev.yaml", Line: 3, Column: 3, Summary: "aws:region: it is no region"}}
	for _, test := range []struct {
		err  error
		want string
	}{
		{failed, subject + ": it is no region"},
		{setting, "Pulumi.dev.yaml:3:3: aws:region: it is no region"},
		{fmt.Errorf("refused: %w", setting), "refused: Pulumi.dev.yaml:3:3: aws:region: it is no region"},
		{&engine.StepError{Op: engine.OpCreate, Resource: &state.Resource{Type: "a:b:C", URN: "urn:pulumi:dev::p::a:b:C::other"}, Err: failed}, `create a:b:C "other": it is no region`},
		{abi.NewError(abi.ErrorKindCancelled, "the deployment was stopped"), "the deployment was stopped"},
	} {
		require.EqualError(t, about(subject, test.err), test.want)
	}
}
