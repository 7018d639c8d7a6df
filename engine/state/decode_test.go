package state_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
)

func TestDecodeErrorsTellThePlace(t *testing.T) {
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for name, test := range map[string]struct {
		doc     string
		pointer string
		reason  string
	}{
		"empty":                 {``, "", "ends in the middle"},
		"not JSON":              {`hello`, "", "invalid character"},
		"cut short":             {ExportOf(`"x"`)[:80], "/deployment", "ends in the middle"},
		"more behind":           {ExportOf(`1`) + "{}", "", "more after the end"},
		"not an object":         {`[]`, "", "expected an object, not an array"},
		"duplicate name":        {ExportOf(`{"a":1,"a":2}`), "/deployment/resources/0/inputs/v/a", "duplicate"},
		"invalid UTF-8":         {ExportOf("\"\xff\""), "/deployment/resources/0/inputs/v", "UTF-8"},
		"huge number":           {ExportOf(`1e999`), "/deployment/resources/0/inputs/v", "too large"},
		"too deep":              {ExportOf(strings.Repeat("[", 1200) + strings.Repeat("]", 1200)), "/deployment/resources/0/inputs/v", "nested more than"},
		"too deep in a secret":  {ExportOf(`{` + Signature + `:"1b47061264138c4ac30d75fd1eb44270","ciphertext":"` + b64(strings.Repeat("[", 1200)+strings.Repeat("]", 1200)) + `"}`), "/deployment/resources/0/inputs/v", "not a value"},
		"no urn":                {`{"version":3,"deployment":{"resources":[{"type":"a:b:C"}]}}`, "/deployment/resources/0", "no urn"},
		"no type":               {`{"version":3,"deployment":{"resources":[{"urn":"u"}]}}`, "/deployment/resources/0", "no type"},
		"urn is a number":       {`{"version":3,"deployment":{"resources":[{"urn":7}]}}`, "/deployment/resources/0/urn", "expected a string, not a number"},
		"custom is a string":    {`{"version":3,"deployment":{"resources":[{"custom":"yes"}]}}`, "/deployment/resources/0/custom", "expected a bool"},
		"resource is null":      {`{"version":3,"deployment":{"resources":[null]}}`, "/deployment/resources/0", "no urn"},
		"bad time":              {`{"version":3,"deployment":{"resources":[{"created":"yesterday"}]}}`, "/deployment/resources/0/created", "expected a time"},
		"bad path":              {`{"version":3,"deployment":{"resources":[{"hideDiff":["a["]}]}}`, "/deployment/resources/0/hideDiff/0", "path"},
		"negative index":        {`{"version":3,"deployment":{"resources":[{"hideDiff":[[-1]]}]}}`, "/deployment/resources/0/hideDiff/0/0", "expected an integer"},
		"inputs are special":    {`{"version":3,"deployment":{"resources":[{"inputs":{` + Signature + `:"x"}}]}}`, "/deployment/resources/0/inputs", "special value"},
		"operation of no type":  {`{"version":3,"deployment":{"pending_operations":[{"resource":{"urn":"u","type":"t"}}]}}`, "/deployment/pending_operations/0", "no type"},
		"unknown operation":     {`{"version":3,"deployment":{"pending_operations":[{"type":"dancing"}]}}`, "/deployment/pending_operations/0/type", `"dancing"`},
		"unknown signature":     {ExportOf(`{` + Signature + `:"d0e6a833031e9bbcd3f4e8bde6ca49a4","value":1}`), "/deployment/resources/0/inputs/v", "unrecognized signature"},
		"signature is a number": {ExportOf(`{` + Signature + `:1}`), "/deployment/resources/0/inputs/v/4dabf18193072939515e22adb298388d", "expected a string"},
		"empty signature":       {ExportOf(`{` + Signature + `:""}`), "/deployment/resources/0/inputs/v", "empty"},
		"secret without text":   {ExportOf(`{` + Signature + `:"1b47061264138c4ac30d75fd1eb44270"}`), "/deployment/resources/0/inputs/v", "one of ciphertext and plaintext"},
		"secret with both":      {ExportOf(`{` + Signature + `:"1b47061264138c4ac30d75fd1eb44270","ciphertext":"","plaintext":""}`), "/deployment/resources/0/inputs/v", "one of ciphertext and plaintext"},
		"secret of no JSON":     {ExportOf(`{` + Signature + `:"1b47061264138c4ac30d75fd1eb44270","ciphertext":"` + b64("hunter2") + `"}`), "/deployment/resources/0/inputs/v", "not a value"},
		"secret undecryptable":  {ExportOf(`{` + Signature + `:"1b47061264138c4ac30d75fd1eb44270","ciphertext":"%%"}`), "/deployment/resources/0/inputs/v", "cannot be decrypted"},
		"asset with two":        {ExportOf(`{` + Signature + `:"c44067f5952c0a294b673a41bacd8c17","text":"a","path":"b"}`), "/deployment/resources/0/inputs/v", "more than one"},
		"asset with assets":     {ExportOf(`{` + Signature + `:"c44067f5952c0a294b673a41bacd8c17","assets":{}}`), "/deployment/resources/0/inputs/v", "has assets"},
		"archive with a text":   {ExportOf(`{` + Signature + `:"0def7320c3a5731c473e5ecbe6d01bc7","text":"a"}`), "/deployment/resources/0/inputs/v", "has a text"},
		"archive of numbers":    {ExportOf(`{` + Signature + `:"0def7320c3a5731c473e5ecbe6d01bc7","assets":{"a":1}}`), "/deployment/resources/0/inputs/v", "neither an asset"},
		"archive of a list":     {ExportOf(`{` + Signature + `:"0def7320c3a5731c473e5ecbe6d01bc7","assets":[]}`), "/deployment/resources/0/inputs/v", "not an object"},
		"reference to nothing":  {ExportOf(`{` + Signature + `:"5cf8f73096256a8f31e491e813e4eb8e"}`), "/deployment/resources/0/inputs/v", "no urn"},
		"reference with list":   {ExportOf(`{` + Signature + `:"5cf8f73096256a8f31e491e813e4eb8e","urn":"u","id":[]}`), "/deployment/resources/0/inputs/v", "id is not a string"},
		"byte string":           {ExportOf(`{` + Signature + `:"803fd3297a5875dc03ca845dda5d2a98","value":"%%"}`), "/deployment/resources/0/inputs/v", "base64"},
		"number":                {ExportOf(`{` + Signature + `:"8ad145fe-0d11-4827-bfd7-1abcbf086f5c","value":"7ff"}`), "/deployment/resources/0/inputs/v", "16 hex digits"},
		"fractional version":    {`{"version":3.5}`, "/version", "expected an integer"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := state.Decode(t.Context(), []byte(test.doc), OpenB64)
			var e *state.DecodeError
			require.True(t, errors.As(err, &e), "%v", err)
			require.True(t, strings.HasPrefix(e.Pointer, test.pointer), "%v", err)
			require.Contains(t, e.Reason, test.reason)
			require.NotContains(t, err.Error(), "hunter2", "secrets are not shown")
			require.LessOrEqual(t, e.Offset, int64(len(test.doc)))
		})
	}
}

// A checkpoint names its stack, and tools take such a name apart to paths.
func TestNamesOfStacksInCheckpoints(t *testing.T) {
	checkpoint := `{"version":3,"checkpoint":{"stack":%q,"latest":{"secrets_providers":{"type":"b64"}}}}`
	bare := `{"stack":%q,"latest":{"secrets_providers":{"type":"b64"}}}` // of version 1
	for _, name := range []string{"", "dev", "p/dev", "organization/p/dev", "acme/p.q/dev-1"} {
		for _, doc := range []string{checkpoint, bare} {
			s, _, err := state.Decode(t.Context(), fmt.Appendf(nil, doc, name), OpenB64)
			require.NoError(t, err, name)
			require.Equal(t, name, s.Stack)
		}
	}
	for _, name := range []string{
		"organization/../../x", "organization/../x", "../p/dev", "organization/p/..", "..", "/etc/passwd", "organization/p/dev/x",
		"organization/p/", "//", `organization/p\x/dev`, "organization/p/dev\n", "organization/p/C:",
	} {
		for _, doc := range []string{checkpoint, bare} {
			_, _, err := state.Decode(t.Context(), fmt.Appendf(nil, doc, name), OpenB64)
			require.ErrorIs(t, err, state.ErrStackName, name)
		}
	}
	_, _, err := state.Decode(t.Context(), fmt.Appendf(nil, checkpoint, "organization/../x"), OpenB64)
	require.EqualError(t, err, `reading the state at /checkpoint/stack (byte 54): the stack has no name that one can have: ".." cannot be a project name: it begins with "."`)
}

// JSON that no writer of states makes is damaged, and never an empty state.
func TestDocumentsThatAreNoStates(t *testing.T) {
	for doc, message := range map[string]string{
		`{}`:                                            "names no version",
		`{"version":0,"deployment":{}}`:                 "names no version",
		`{"deployment":{"resources":[]}}`:               "names no version",
		`{"version":0,"checkpoint":{}}`:                 "names no version",
		`{"version":3}`:                                 "neither a checkpoint nor a deployment",
		`{"version":3,"checkpoint":{}}`:                 "neither a checkpoint nor a deployment",
		`{"version":3,"checkpoint":null}`:               "neither a checkpoint nor a deployment",
		`{"version":3,"deployment":null}`:               "neither a manifest nor resources",
		`{"version":3,"deployment":{}}`:                 "neither a manifest nor resources",
		`{"version":3,"deployment":{"resources":null}}`: "neither a manifest nor resources",
	} {
		_, _, err := state.Decode(t.Context(), []byte(doc), OpenB64)
		require.ErrorContains(t, err, message, doc)
		require.NotErrorIs(t, err, state.ErrUnsupported, doc)
	}
	for _, doc := range []string{
		`{"version":3,"deployment":{"manifest":{}}}`, `{"version":3,"deployment":{"resources":[]}}`, `{"version":3,"checkpoint":{"stack":"organization/demo/dev"}}`,
	} {
		_, _, err := state.Decode(t.Context(), []byte(doc), OpenB64)
		require.NoError(t, err, doc)
	}
}

func TestUnsupportedStatesAreRefused(t *testing.T) {
	for doc, message := range map[string]string{
		`{"version":5,"deployment":{}}`:                                                  "use a newer husk",
		`{"version":4,"features":["taint","teleport"],"deployment":{}}`:                  `"teleport"`,
		`{"version":4,"features":["hooks"],"deployment":{"manifest":{}},"features2":[]}`: "",
	} {
		_, _, err := state.Decode(t.Context(), []byte(doc), OpenB64)
		if message == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, state.ErrUnsupported, doc)
		require.ErrorContains(t, err, message)
	}
}

func TestOldSpellingsAreRead(t *testing.T) {
	reference := func(id string) string {
		return ExportOf(`{` + Signature + `:"5cf8f73096256a8f31e491e813e4eb8e","urn":"u"` + id + `}`)
	}
	archiveOf := func(fields string) string {
		return ExportOf(`{` + Signature + `:"0def7320c3a5731c473e5ecbe6d01bc7"` + fields + `}`)
	}
	for name, test := range map[string]struct {
		doc  string
		want property.Value
	}{
		"reference, old custom":    {reference(`,"id":{"V":"x"}`), property.Reference(property.ResourceReference{URN: "u", HasID: true, ID: "x"})},
		"reference, old component": {reference(`,"id":{"V":null}`), property.Reference(property.ResourceReference{URN: "u"})},
		"reference, old unknown":   {reference(`,"id":{"V":{"Element":{}}}`), property.Reference(property.ResourceReference{URN: "u", HasID: true})},
		"nested secret as ciphertext": {
			ExportOf(`{` + Signature + `:"1b47061264138c4ac30d75fd1eb44270","plaintext":"[{\"4dabf18193072939515e22adb298388d\":\"1b47061264138c4ac30d75fd1eb44270\",\"ciphertext\":\"7\"}]"}`),
			property.Secret(property.Array(property.Secret(property.Number(7)))),
		},
		"archive without anything": {archiveOf(``), property.ArchiveOf(property.Archive{Source: property.SourceAssets})},
		"empty archive without assets": {archiveOf(`,"hash":"5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"`), property.ArchiveOf(property.Archive{
			Hash: "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef", Source: property.SourceAssets,
		})},
		"elided archive":                {archiveOf(`,"hash":"1f"`), property.ArchiveOf(property.Archive{Hash: "1f"})},
		"elided archive without assets": {archiveOf(`,"hash":"1f","assets":{}`), property.ArchiveOf(property.Archive{Hash: "1f"})},
		"signature last": {
			ExportOf(`{"text":"04da6b54-80e4-46f7-96ec-b56ff0331ba9",` + Signature + `:"c44067f5952c0a294b673a41bacd8c17"}`),
			property.AssetOf(property.Asset{Source: property.SourceText, Text: "04da6b54-80e4-46f7-96ec-b56ff0331ba9"}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := Decode(t, []byte(test.doc))
			require.Equal(t, test.want, Resources(s)[0].Inputs.Get("v"))
		})
	}
}

func TestSecretsNeedTheirProvider(t *testing.T) {
	sealed := ExportOf(`{` + Signature + `:"1b47061264138c4ac30d75fd1eb44270","ciphertext":"Nw=="}`)
	_, _, err := state.Decode(t.Context(), []byte(sealed), func(context.Context, string, json.RawMessage) (secrets.Provider, error) {
		return nil, fmt.Errorf("nothing here: %w", secrets.ErrUnknownProvider)
	})
	require.ErrorIs(t, err, secrets.ErrUnknownProvider)

	unnamed := strings.Replace(sealed, `"secrets_providers":{"type":"b64"},`, "", 1)
	_, _, err = state.Decode(t.Context(), []byte(unnamed), OpenB64)
	require.ErrorIs(t, err, secrets.ErrNoKey)
	require.ErrorContains(t, err, "names no secrets provider")
}

func TestCheckpointMayBeEmpty(t *testing.T) {
	for _, doc := range []string{
		`{"version":3,"checkpoint":{"stack":"organization/p/dev"}}`,
		`{"version":3,"checkpoint":{"stack":"organization/p/dev","latest":null}}`,
		`{"version":3,"checkpoint":{"stack":"organization/p/dev","latest":{"manifest":{},"resources":null}},"husk":{"sequence":7}}`,
	} {
		s, codec := Decode(t, []byte(doc))
		require.Zero(t, s.Len())
		require.Equal(t, "organization/p/dev", s.Stack)
		out, err := codec.EncodeCheckpoint(t.Context(), s)
		require.NoError(t, err)
		again, _ := Decode(t, out)
		require.Equal(t, s.Stack, again.Stack)
		require.NotContains(t, string(out), "husk", "what belongs to the store is not the state's")
	}
}

func TestConfigOfACheckpointIsKept(t *testing.T) {
	doc := `{"version":3,"checkpoint":{"stack":"s","config":{"aws:region":"eu"},"latest":{"manifest":{"time":"2024-01-01T00:00:00Z","magic":"m","version":"v"}}}}`
	s, codec := Decode(t, []byte(doc))
	out, err := codec.EncodeCheckpoint(t.Context(), s)
	require.NoError(t, err)
	RequireSameJSON(t, []byte(doc), out)
}

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
			s, codec := Decode(t, []byte(test.doc))
			require.Equal(t, test.stack, s.Stack)
			all := Resources(s)
			require.Len(t, all, 2)
			require.True(t, all[0].Outputs.Equal(property.NewMap(property.Entry{Key: "region", Value: property.String("eu-west-1")})),
				"the outputs of a provider are its inputs")
			require.Equal(t, urn.URN("urn:pulumi:dev::p::aws:s3/bucket:Bucket::b"), all[1].URN)
			out, err := codec.EncodeExport(t.Context(), s, false)
			require.NoError(t, err)
			require.Contains(t, string(out), `"version":3`)
			require.NotContains(t, string(out), `"defaults"`)
			again, _ := Decode(t, out)
			require.Equal(t, all[1].Outputs, Resources(again)[1].Outputs)

			checkpoint, err := codec.EncodeCheckpoint(t.Context(), s)
			require.NoError(t, err)
			_, _, err = state.Decode(t.Context(), checkpoint, OpenB64)
			require.NoError(t, err)
		})
	}
}

// Extensions are written as Pulumi writes them, and what a newer version says of one
// is kept.
func TestExtensions(t *testing.T) {
	newer := json.RawMessage(`{"name":"old","version":"1.0.0","value":"eA==","more":true}`)
	cats := state.Extension{Name: "cats", Version: "2.0.0", Value: []byte{0, 255}}
	text, err := cats.Encode()
	require.NoError(t, err)
	all, err := state.EncodeExtensions(map[string]json.RawMessage{"b": text, "a": newer})
	require.NoError(t, err)
	require.Equal(t, `{"a":`+string(newer)+`,"b":{"name":"cats","version":"2.0.0","value":"AP8="}}`, string(all))

	got, err := state.DecodeExtensions(all)
	require.NoError(t, err)
	require.Equal(t, string(newer), string(got["a"]))
	again, err := state.DecodeExtension(got["b"])
	require.NoError(t, err)
	require.Equal(t, cats, again)

	none, err := state.EncodeExtensions(nil)
	require.NoError(t, err)
	require.Nil(t, none)
	for _, damaged := range []string{`[]`, `1`, `{"a":`} {
		_, err = state.DecodeExtensions(json.RawMessage(damaged))
		require.ErrorContains(t, err, "the extensions of the state are damaged")
	}
	_, err = state.DecodeExtension(json.RawMessage(`{"value":"?"}`))
	require.ErrorContains(t, err, "an extension of the state is damaged")
}

func TestVerifyExtensions(t *testing.T) {
	extended := Changed(Custom("x"), func(r *state.Resource) { r.ExtensionRef = "a" })
	for extensions, want := range map[string][]state.ProblemKind{
		`{"a":{"name":"cats","version":"1.0.0","value":""}}`: nil,
		`{}`: {state.ProblemExtension},
		`[]`: {state.ProblemExtension},
		``:   {state.ProblemExtension},
	} {
		s := state.NewSnapshot(Provider(), extended)
		if extensions != "" {
			s.Extensions = json.RawMessage(extensions)
		}
		var got []state.ProblemKind
		if err := s.Verify(); err != nil {
			for _, p := range err.(*state.IntegrityError).Problems {
				got = append(got, p.Kind)
			}
		}
		require.Equal(t, want, got, extensions)
	}
}
