package statetest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/statetest"
)

// oldResources are resources as version 1 has them, and version 2 where they name a
// provider.
const oldResources = `"manifest":{"time":"2018-05-01T00:00:00Z","magic":"","version":"v0.12.0"},"resources":[
	{"urn":"urn:pulumi:dev::p::pulumi:providers:aws::mine","custom":true,"id":"x","type":"pulumi:providers:aws","inputs":{"region":"eu-west-1"}},
	{"urn":"urn:pulumi:dev::p::aws:s3/bucket:Bucket::b","custom":true,"id":"b-1","type":"aws:s3/bucket:Bucket",
		"inputs":{"acl":"private","__defaults":[]},"defaults":{"acl":"private"},"outputs":{"id":"b-1","acl":"private"}}]`

func TestOlderStatesAreBroughtUpToDate(t *testing.T) {
	for name, test := range map[string]struct{ doc, stack string }{
		"version 2, exported":     {`{"version":2,"deployment":{` + oldResources + `}}`, ""},
		"version 1, exported":     {`{"version":1,"deployment":{` + oldResources + `}}`, ""},
		"version 2, a checkpoint": {`{"version":2,"checkpoint":{"stack":"dev","config":{"a":"b"},"latest":{` + oldResources + `}}}`, "dev"},
		"version 1, a checkpoint": {`{"version":1,"checkpoint":{"stack":"dev","latest":{` + oldResources + `}}}`, "dev"},
		"before versions":         {`{"stack":"dev","config":{"a":"b"},"latest":{` + oldResources + `}}`, "dev"},
	} {
		t.Run(name, func(t *testing.T) {
			s, codec := statetest.Decode(t, []byte(test.doc))
			require.Equal(t, test.stack, s.Stack)
			all := statetest.Resources(s)
			require.Len(t, all, 2)
			require.True(t, all[0].Outputs.Equal(property.NewMap(property.Entry{Key: "region", Value: property.String("eu-west-1")})),
				"the outputs of a provider are its inputs")
			require.Equal(t, urn.URN("urn:pulumi:dev::p::aws:s3/bucket:Bucket::b"), all[1].URN)
			out, err := codec.EncodeExport(t.Context(), s, false)
			require.NoError(t, err)
			require.Contains(t, string(out), `"version":3`)
			require.NotContains(t, string(out), `"defaults"`)
			again, _ := statetest.Decode(t, out)
			require.Equal(t, all[1].Outputs, statetest.Resources(again)[1].Outputs)

			checkpoint, err := codec.EncodeCheckpoint(t.Context(), s)
			require.NoError(t, err)
			_, _, err = state.Decode(t.Context(), checkpoint, statetest.OpenB64)
			require.NoError(t, err)
		})
	}
}
