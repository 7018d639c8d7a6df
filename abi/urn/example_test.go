package urn_test

import (
	"fmt"

	"github.com/husk-dev/husk/abi/urn"
)

func ExampleNew() {
	network := urn.New("dev", "shop", "", "cloud:index:Network", "main")
	subnet := urn.New("dev", "shop", network, "cloud:index:Subnet", "public")
	fmt.Println(subnet)
	// Output:
	// urn:pulumi:dev::shop::cloud:index:Network$cloud:index:Subnet::public
}

func ExampleParse() {
	u, err := urn.Parse("urn:pulumi:dev::shop::cloud:index:Network$cloud:index:Subnet::public")
	fmt.Println(u.Stack(), u.Project(), u.Type(), u.Name(), err)

	_, err = urn.Parse("urn:pulumi:dev::shop")
	fmt.Println(err)
	// Output:
	// dev shop cloud:index:Subnet public <nil>
	// invalid URN "urn:pulumi:dev::shop": it must have the form urn:pulumi:<stack>::<project>::<type>::<name>
}
