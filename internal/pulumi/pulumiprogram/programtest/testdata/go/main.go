// A program in Go that uses the published SDK as its users do.
package main

import "github.com/pulumi/pulumi/sdk/v3/go/pulumi"

// pet is a resource of the package random, as a generated SDK declares it.
type pet struct {
	pulumi.CustomResourceState
	Length pulumi.IntOutput `pulumi:"length"`
}

type pair struct{ pulumi.ResourceState }

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		var owner pair
		if err := ctx.RegisterComponentResource("shop:index:Pair", "pair", &owner); err != nil {
			return err
		}
		var first, second pet
		err := ctx.RegisterResource("random:index/randomPet:RandomPet", "first", pulumi.Map{"length": pulumi.Int(3)}, &first,
			pulumi.Parent(&owner), pulumi.Version("4.21.2"))
		if err != nil {
			return err
		}
		err = ctx.RegisterResource("random:index/randomPet:RandomPet", "second", pulumi.Map{
			"length": first.Length, "keepers": pulumi.StringMap{"first": first.ID()},
		}, &second, pulumi.Parent(&owner))
		if err != nil {
			return err
		}
		if err := ctx.RegisterResourceOutputs(&owner, pulumi.Map{"second": second.ID()}); err != nil {
			return err
		}
		ctx.Export("second", second.ID())
		ctx.Export("token", pulumi.ToSecret(pulumi.String("very secret")))
		return nil
	})
}
