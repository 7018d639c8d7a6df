package importfile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/importfile"
)

const root = urn.URN("urn:pulumi:dev::demo::pulumi:pulumi:Stack::demo-dev")

func TestTargets(t *testing.T) {
	f, err := importfile.Parse([]byte(`{
		"nameTable": {"own": "urn:pulumi:dev::demo::pulumi:providers:aws::own", "old": "urn:pulumi:dev::demo::a:b:C::old"},
		"resources": [
			{"type": "aws:ec2/subnet:Subnet", "name": "subnet", "id": "subnet-1", "parent": "vpc", "provider": "own"},
			{"type": "aws:ec2/vpc:Vpc", "name": "vpc", "id": "vpc-1", "parent": "net", "logicalName": "main", "version": "6.0.0", "properties": ["cidr"]},
			{"type": "my:index:Net", "name": "net", "component": true, "parent": "old"}
		]}`))
	require.NoError(t, err)
	targets, err := f.Targets(root, true)
	require.NoError(t, err)
	net := urn.New("dev", "demo", "urn:pulumi:dev::demo::a:b:C::old", "my:index:Net", "net")
	vpc := urn.New("dev", "demo", net, "aws:ec2/vpc:Vpc", "main")
	require.Equal(t, []engine.ImportTarget{
		{Type: "aws:ec2/subnet:Subnet", Name: "subnet", ID: "subnet-1", Parent: vpc, Provider: f.NameTable["own"], Protect: true},
		{Type: "aws:ec2/vpc:Vpc", Name: "main", ID: "vpc-1", Parent: net, Version: "6.0.0", Properties: []string{"cidr"}, Protect: true},
		{Type: "my:index:Net", Name: "net", Component: true, Parent: f.NameTable["old"], Protect: true},
	}, targets)
	require.Equal(t, map[urn.URN]string{f.NameTable["own"]: "own", f.NameTable["old"]: "old"}, f.Names())
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`[]`: "not an import file",
		`{"resources":[{"type":"a:b:C","name":"x","id":"1","parnet":"y"}]}`: `there is no member "parnet" here`,
		`{} {}`:                                       "more after the end of the JSON",
		`{"resources":[{"name":"x"}]}`:                "resource 1 of the file has no type",
		`{"resources":[{"type":"a:b:C"}]}`:            "resource 1 of the file has no type or no name",
		`{"resources":[{"type":"a:b:C","name":"x"}]}`: `"x" has no ID`,
		`{"resources":[{"type":"a:b:C","name":"x","id":"<PLACEHOLDER>"}]}`:                                                    `the ID of "x" is still <PLACEHOLDER>`,
		`{"resources":[{"type":"a:b:C","name":"x","id":"1","component":true}]}`:                                               `"x" is a component`,
		`{"resources":[{"type":"a:b:C","name":"x","id":"1"},{"type":"a:b:C","name":"x","id":"2"}]}`:                           `"x" names two resources`,
		`{"nameTable":{"x":"urn:a"},"resources":[{"type":"a:b:C","name":"x","id":"1"}]}`:                                      `"x" names two resources`,
		`{"resources":[{"type":"a:b:C","name":"x","id":"1","parent":"y"}]}`:                                                   `"y", the parent of "x", is neither`,
		`{"resources":[{"type":"a:b:C","name":"x","id":"1","provider":"y"}]}`:                                                 `"y", the provider of "x", is not in the nameTable`,
		`{"resources":[{"type":"a:b:C","name":"x","id":"1","parent":"y"},{"type":"a:b:C","name":"y","id":"1","parent":"x"}]}`: "is its own ancestor",
	} {
		f, err := importfile.Parse([]byte(text))
		if err == nil {
			_, err = f.Targets(root, false)
		}
		require.ErrorContains(t, err, want, text)
	}
}

// A preview lists what it would create, by names that are told apart.
func TestListed(t *testing.T) {
	u := func(parent urn.URN, typ, name string) urn.URN { return urn.New("dev", "demo", parent, typ, name) }
	old, own := u(root, "a:b:C", "old"), u("", "pulumi:providers:a", "own")
	home := u(root, "a:b:Home", "home")
	var l importfile.Listed
	step := func(op engine.Op, at urn.URN, parent, provider urn.URN, custom bool) {
		l.Event(engine.StepDone{Step: engine.StepInfo{
			Op: op, URN: at, Resource: at.Type(), Name: at.Name(), Parent: parent, Provider: provider, Custom: custom,
		}})
	}
	step(engine.OpSame, root, "", "", false)
	step(engine.OpCreate, own, "", "", true)
	step(engine.OpUpdate, old, root, "", true)
	step(engine.OpCreate, home, root, "", false)
	step(engine.OpCreate, u(home, "a:b:C", "x"), home, own, true)
	step(engine.OpCreate, u(old, "a:b:C", "x"), old, "", true)
	text, err := l.File().Encode()
	require.NoError(t, err)
	require.Equal(t, `{
    "nameTable": {
        "old": "urn:pulumi:dev::demo::a:b:C::old",
        "own": "urn:pulumi:dev::demo::pulumi:providers:a::own"
    },
    "resources": [
        {
            "type": "a:b:Home",
            "name": "home",
            "component": true
        },
        {
            "type": "a:b:C",
            "name": "x",
            "id": "<PLACEHOLDER>",
            "parent": "home",
            "provider": "own"
        },
        {
            "type": "a:b:C",
            "name": "x2",
            "id": "<PLACEHOLDER>",
            "parent": "old",
            "logicalName": "x"
        }
    ]
}
`, string(text))
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"nameTable":{"a":"urn:pulumi:dev::demo::a:b:C::old"},"resources":[{"type":"a:b:C","name":"x","id":"1","parent":"a"}]}`))
	f.Add([]byte(`{"resources":[{"type":"a:b:C","name":"x","id":"1","parent":"x"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := importfile.Parse(data)
		if err != nil {
			return
		}
		if targets, err := file.Targets(root, true); err == nil {
			require.Len(t, targets, len(file.Resources))
		}
	})
}
