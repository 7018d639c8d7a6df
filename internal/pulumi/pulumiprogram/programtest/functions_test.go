package programtest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/automation"
	"github.com/husk-dev/husk/engine"
)

// Transforms of the stack, of a component, and of a resource change what is registered, in Pulumi's order.
func TestNodeTransforms(t *testing.T) {
	p := newNode(t, pair+`
pulumi.runtime.registerResourceTransform(args => {
  if (args.type === "random:index/randomPet:RandomPet") {
    return { props: { ...args.props, prefix: pulumi.interpolate`+"`stack-${args.props.prefix ?? \"\"}`"+` }, opts: pulumi.mergeOptions(args.opts, { protect: false }) };
  }
});
const pair = new Pair("pair", { transforms: [args => {
  if (args.name === "pair-text") return { props: { ...args.props, length: 20 }, opts: { ...args.opts, additionalSecretOutputs: ["result"] } };
}] });
const own = new random.RandomPet("own", { length: 1 }, { transforms: [args => ({ props: { ...args.props, prefix: "own" }, opts: args.opts })] });
exports.own = own.id;
exports.pet = pair.pet.id;
exports.text = pair.text.result;
`)
	p.cycle(5)
	require.Regexp(t, `^stack-own-\w+$`, p.output("own"))
	require.Regexp(t, `^stack--\w+-\w+$`, p.output("pet"))
	require.Len(t, p.output("text"), 20)
	outputs, err := p.stack().Outputs(t.Context())
	require.NoError(t, err)
	require.True(t, outputs.Get("text").ContainsSecrets())

	p.program(`new random.RandomPet("bad", { length: 1 }, { transforms: [() => { throw new Error("not this one"); }] });`)
	_, err = p.run(engine.Up{})
	require.ErrorContains(t, err, "not this one")
}

// A transform changes the arguments of functions.
func TestNodeInvokeTransforms(t *testing.T) {
	p := newNode(t, `exports.color = "green";`)
	opened, err := automation.Open(t.Context(), p.dir, automation.Options{})
	require.NoError(t, err)
	base, err := opened.NewStack(t.Context(), "base")
	require.NoError(t, err)
	_, err = base.Run(t.Context(), engine.Up{}, p.options())
	require.NoError(t, err, p.text.String())
	p.program(`
pulumi.runtime.registerInvokeTransform(args => ({ args: { ...args.args, name: "organization/shop/base" }, opts: args.opts }));
const read = pulumi.output(pulumi.runtime.invoke("pulumi:pulumi:readStackOutputs", { name: "organization/shop/nothing" }));
exports.color = read.outputs.color;
`)
	p.up()
	require.Equal(t, "green", p.output("color"))
}

// Hooks run around steps, those of deletions after the program has ended. One before a step can refuse it.
func TestNodeHooks(t *testing.T) {
	const hooks = `
const say = what => new pulumi.ResourceHook(what, args => console.log(what, args.name, args.newInputs?.length, args.newOutputs?.id ?? "", args.oldInputs?.length));
const all = { beforeCreate: [say("before-create")], afterCreate: [say("after-create")], beforeUpdate: [say("before-update")],
  afterUpdate: [say("after-update")], beforeDelete: [say("before-delete")], afterDelete: [say("after-delete")] };
`
	p := newNode(t, hooks+`new random.RandomPet("pet", { length: 2 }, { hooks: all });`)
	var said []string
	p.said = func(d engine.Diagnostic) {
		if strings.HasPrefix(d.Message, "before-") || strings.HasPrefix(d.Message, "after-") {
			said = append(said, strings.Join(strings.Fields(d.Message)[:3], " "))
		}
	}
	_, err := p.preview()
	require.NoError(t, err)
	require.Empty(t, said, "hooks do not run in previews")
	p.up()
	require.Equal(t, []string{"before-create pet 2", "after-create pet 2"}, said)
	said = nil
	p.program(hooks)
	p.up()
	require.Equal(t, []string{"before-delete pet undefined", "after-delete pet undefined"}, said)

	p.program(`
const no = new pulumi.ResourceHook("no", () => { throw new Error("the hook says no"); });
new random.RandomPet("refused", { length: 2 }, { hooks: { beforeCreate: [no] } });
`)
	_, err = p.run(engine.Up{})
	require.ErrorContains(t, err, "the hook says no")
}
