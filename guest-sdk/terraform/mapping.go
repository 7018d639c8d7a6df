package terraform

// Mapping changes the names and shapes that the adapter derives from a provider's schema. A file of
// `husk provider port --map` holds one as YAML, with these keys:
//
//	prefix: aws_                  # the prefix to remove from names of resources and data sources
//	modules: {aws_s3_: s3}        # modules of tokens by prefixes of names; others are in index
//	autoname: {maxLength: 24}     # how to make up the attribute name of a resource
//	config:
//	  access_key: {name: key}
//	resources:
//	  aws_s3_bucket:
//	    name: Bucket              # the type's name; or token, for the whole token
//	    aliases: ["aws:index/bucket:Bucket"] # earlier tokens
//	    id: [region, bucket]      # the attributes that make the ID, joined by "/"
//	    identity: [bucket]        # the attributes by which the service knows the object
//	    deleteBeforeReplace: true
//	    autoname: {bucket: {maxLength: 63}} # names that are made up if programs give none
//	    fields:
//	      website: {maxItemsOne: true}
//	      tag: {name: tags, fields: {key: {name: k}}}
//	dataSources:
//	  aws_s3_bucket: {name: getBucket}
//	functions:                    # and in the same way ephemerals and actions
//	  arn_parse: {name: parseArn}
//
// Names of resources, data sources, functions, and attributes are the provider's. A name that the provider does not have is an
// error, unless the mapping is optional.
type Mapping struct {
	// Optional means that the provider need not have the names, nor the lists and objects that entries are for: the mapping is
	// for several versions.
	Optional bool `json:"optional,omitempty"`
	// Prefix is the prefix that resources and data sources lose of their names, with the last underscore. nil stands for the
	// first word of the names if all have the same.
	Prefix *string `json:"prefix,omitempty"`
	// Modules are the modules of tokens by prefixes of names. The longest prefix counts.
	Modules map[string]string `json:"modules,omitempty"`
	// Autoname says how the attribute name is made up where a resource says nothing else.
	Autoname *Autoname `json:"autoname,omitempty"`
	// Config are the fields of the provider's configuration.
	Config      map[string]Field    `json:"config,omitempty"`
	Resources   map[string]Resource `json:"resources,omitempty"`
	DataSources map[string]Function `json:"dataSources,omitempty"`
	Functions   map[string]Function `json:"functions,omitempty"`
	Ephemerals  map[string]Function `json:"ephemerals,omitempty"`
	Actions     map[string]Function `json:"actions,omitempty"`
}

// Resource changes a type of resource.
type Resource struct {
	// Name is the type's name in its module, such as RandomPet.
	Name string `json:"name,omitempty"`
	// Token is the whole token, such as random:index/randomPet:RandomPet.
	Token string `json:"token,omitempty"`
	// Aliases are earlier tokens of the type.
	Aliases []string         `json:"aliases,omitempty"`
	Fields  map[string]Field `json:"fields,omitempty"`
	// ID names the attributes whose values make the ID, joined by "/". Without it the ID is the
	// attribute id, or the name in the program if the resource has no such attribute.
	ID []string `json:"id,omitempty"`
	// Identity names the attributes by which the service knows the object. If none of them changes, the
	// object is deleted before its replacement is made. Without it they are the attributes of the
	// identity that the provider declares, or the attribute name if it has none.
	Identity []string `json:"identity,omitempty"`
	// DeleteBeforeReplace means that two objects of the resource cannot exist side by side. Without it,
	// that is so of a resource that has neither an identity nor a name: its replacement could be the
	// same object, such as a file of the same path, which the deletion of the old one would remove.
	DeleteBeforeReplace *bool `json:"deleteBeforeReplace,omitempty"`
	// Autoname names the attributes that get a made-up name where the program gives none, and says which. Without an entry
	// for it, that is so of the attribute name if it is required text, as the mapping's Autoname says.
	Autoname map[string]Autoname `json:"autoname,omitempty"`
}

// Autoname says how names are made up: of the resource's name in the program, the separator, and seven random characters.
type Autoname struct {
	// Off leaves the attribute as the provider has it.
	Off bool `json:"off,omitempty"`
	// Optional keeps a name that Pulumi's package has made up, and makes up none.
	Optional bool `json:"optional,omitempty"`
	// MaxLength bounds the characters of a name. Without it, it is 255.
	MaxLength int `json:"maxLength,omitempty"`
	// Separator is a hyphen without it.
	Separator *string `json:"separator,omitempty"`
	// Lower makes capital letters small.
	Lower bool `json:"lower,omitempty"`
}

// Function changes a data source, a function, an ephemeral resource, or an action.
type Function struct {
	// Name is the function's name in its module, such as getBucket.
	Name string `json:"name,omitempty"`
	// Token is the whole token, such as aws:s3/getBucket:getBucket.
	Token  string           `json:"token,omitempty"`
	Fields map[string]Field `json:"fields,omitempty"`
}

// Field changes an attribute or block.
type Field struct {
	// Name is the property's name.
	Name string `json:"name,omitempty"`
	// MaxItemsOne makes the only element of a list or set the property, or keeps a list a list.
	MaxItemsOne *bool `json:"maxItemsOne,omitempty"`
	// Secret marks the property as sensitive, or unmarks it.
	Secret *bool            `json:"secret,omitempty"`
	Fields map[string]Field `json:"fields,omitempty"`
}
