package terraform

// PluginGo lists the minor versions of terraform-plugin-go, github.com/hashicorp/terraform-plugin-go
// v0.N, that brought what the adapter uses. A provider that selects an older version than v0.N is
// built with the tag plugingo_before_0_N. The oldest version that works is [OldestPluginGo].
var PluginGo = []int{
	22, // functions of providers
	25, // ephemeral resources
	26, // write-only attributes
	27, // identities of resources
	29, // actions
	31, // deprecation messages in schemas
}

// OldestPluginGo is the oldest minor version of terraform-plugin-go that the adapter compiles with.
const OldestPluginGo = 14
