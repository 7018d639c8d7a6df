package programtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine"
)

// What makes no sense in a request is an error that names the resource and the value, and nothing is deleted for it.
func TestNodeRequestsThatMakeNoSense(t *testing.T) {
	const raw = `
const settings = require("@pulumi/pulumi/runtime/settings");
const proto = require("@pulumi/pulumi/proto/resource_pb.js");
const alias = require("@pulumi/pulumi/proto/alias_pb.js");
const thing = change => {
  const r = new proto.RegisterResourceRequest();
  r.setType("random:index/randomPet:RandomPet"); r.setName("raw"); r.setCustom(true); r.setSupportsresultreporting(true);
  change(r);
  return new Promise((resolve, reject) => settings.getMonitor().registerResource(r, (e, v) => e ? reject(e) : resolve(v)));
};
const outputs = urn => {
  const r = new proto.RegisterResourceOutputsRequest();
  r.setUrn(urn);
  return new Promise((resolve, reject) => settings.getMonitor().registerResourceOutputs(r, (e, v) => e ? reject(e) : resolve(v)));
};
`
	p := newNode(t, `new random.RandomPet("kept", { length: 1 });`)
	p.up()
	for name, c := range map[string]struct{ call, want string }{
		"a parent that is no URN":   {`thing(r => r.setParent("nonsense"))`, "nonsense"},
		"a parent of another stack": {`thing(r => r.setParent("urn:pulumi:prod::shop::pulumi:pulumi:Stack::shop-prod"))`, "prod"},
		"no name":                   {`thing(r => r.setName(""))`, "name"},
		"a dependency of nobody":    {`thing(r => r.addDependencies("urn:pulumi:dev::shop::a:b:C::missing"))`, "missing"},
		"a provider that is none":   {`thing(r => r.setProvider("nonsense"))`, "nonsense"},
		"an alias that is no URN":   {`thing(r => r.addAliasurns("nonsense"))`, "nonsense"},
		"an alias of a parent":      {`thing(r => { const a = new alias.Alias(); const s = new alias.Alias.Spec(); s.setParenturn("nonsense"); a.setSpec(s); r.setAliasspecs(true); r.addAliases(a); })`, "nonsense"},
		"outputs of nobody":         {`outputs("urn:pulumi:dev::shop::a:b:C::missing")`, "missing"},
	} {
		t.Run(name, func(t *testing.T) {
			p.program(raw + c.call + ";\n")
			_, err := p.run(engine.Up{})
			require.Error(t, err)
			require.Contains(t, err.Error()+p.text.String(), c.want)
			require.NotNil(t, p.recorded("kept"))
		})
	}
	p.program(`new random.RandomPet("kept", { length: 1 });`)
	require.Equal(t, engine.Changes{Same: 2}, p.up(), "nothing was deleted or made")
}
