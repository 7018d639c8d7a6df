package property_test

import (
	"fmt"

	"github.com/husk-dev/husk/abi/property"
)

func ExampleDiff() {
	old := property.NewMap(
		property.Entry{Key: "size", Value: property.Number(1)},
		property.Entry{Key: "tags", Value: property.Array(property.String("a"), property.String("b"))},
	)
	new := old.With("size", property.Unknown).With("tags", property.Array(property.String("a"), property.String("c")))
	for _, change := range property.Diff(old, new) {
		before, _ := change.Path.Get(property.Object(old))
		after, _ := change.Path.Get(property.Object(new))
		fmt.Printf("%v %v: %v -> %v\n", change.Kind, change.Path, before, after)
	}
	// Output:
	// update size: 1 -> [unknown]
	// update tags[1]: "b" -> "c"
}

func ExamplePath_Get() {
	password := property.NewMap(property.Entry{Key: "password", Value: property.String("hunter2")})
	resource := property.NewMap(property.Entry{Key: "login", Value: property.Secret(property.Object(password))})

	path, err := property.ParsePath("login.password")
	if err != nil {
		panic(err)
	}
	part, ok := path.Get(property.Object(resource))
	fmt.Println(part, part.IsSecret(), ok)
	// Output: [secret] true true
}

func ExamplePath_Contains() {
	ignored, err := property.ParsePath("rules[*].ports")
	if err != nil {
		panic(err)
	}
	changed := property.Path{property.Key("rules"), property.Index(2), property.Key("ports"), property.Index(0)}
	fmt.Println(ignored.Contains(changed))
	// Output: true
}
