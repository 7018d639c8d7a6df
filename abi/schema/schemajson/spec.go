package schemajson

import "encoding/json"

// The documents' own shapes, as Pulumi's metaschema names them, as far as the model has a place for their contents.

// packageSpec and the types below are the documents, as far as the model has a place for their
// members.
type packageSpec struct {
	Name                string                   `json:"name"`
	Version             string                   `json:"version"`
	DisplayName         string                   `json:"displayName"`
	Description         string                   `json:"description"`
	Keywords            []string                 `json:"keywords"`
	Homepage            string                   `json:"homepage"`
	License             string                   `json:"license"`
	Repository          string                   `json:"repository"`
	Publisher           string                   `json:"publisher"`
	AllowedPackageNames []string                 `json:"allowedPackageNames"`
	Parameterization    *parameterizationSpec    `json:"parameterization"`
	Config              configSpec               `json:"config"`
	Provider            resourceSpec             `json:"provider"`
	Types               map[string]complexSpec   `json:"types"`
	Resources           map[string]resourceSpec  `json:"resources"`
	Functions           map[string]*functionSpec `json:"functions"`
}

type parameterizationSpec struct {
	BaseProvider struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"baseProvider"`
	Parameter []byte `json:"parameter"` // base64
}

type configSpec struct {
	Variables map[string]propertySpec `json:"variables"`
	Defaults  []string                `json:"defaults"`
}

type objectSpec struct {
	Description string                  `json:"description"`
	Properties  map[string]propertySpec `json:"properties"`
	Required    []string                `json:"required"`
}

// complexSpec is an object type or an enum.
type complexSpec struct {
	objectSpec
	Type string      `json:"type"`
	Enum []enumValue `json:"enum"`
}

type enumValue struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

type resourceSpec struct {
	objectSpec
	InputProperties    map[string]propertySpec `json:"inputProperties"`
	RequiredInputs     []string                `json:"requiredInputs"`
	DeprecationMessage string                  `json:"deprecationMessage"`
	IsComponent        bool                    `json:"isComponent"`
	Aliases            []aliasSpec             `json:"aliases"`
	Methods            map[string]string       `json:"methods"`
	Language           struct {
		Husk struct {
			DeleteBeforeReplace bool     `json:"deleteBeforeReplace"`
			Identity            []string `json:"identity"`
			SchemaCheck         bool     `json:"schemaCheck"`
			SchemaDiff          bool     `json:"schemaDiff"`
			// SchemaConfigure and Deferred are for the provider alone.
			SchemaConfigure bool `json:"schemaConfigure"`
			Deferred        bool `json:"deferred"`
		} `json:"husk"`
	} `json:"language"`
}

type aliasSpec struct {
	Type string `json:"type"`
}

type functionSpec struct {
	Description        string      `json:"description"`
	DeprecationMessage string      `json:"deprecationMessage"`
	Inputs             *objectSpec `json:"inputs"`
	// Outputs, formerly ReturnType, is an object or any other type.
	Outputs    *resultSpec `json:"outputs"`
	ReturnType *resultSpec `json:"returnType"`
	Language   struct {
		Husk struct {
			Streams     bool `json:"streams"`
			Ephemeral   bool `json:"ephemeral"`
			Action      bool `json:"action"`
			SchemaCheck bool `json:"schemaCheck"`
		} `json:"husk"`
	} `json:"language"`
}

// resultSpec is the result of a function: the properties of an object, or a type.
type resultSpec struct {
	objectSpec
	typeSpec
}

type typeSpec struct {
	Type                 string     `json:"type"`
	Ref                  string     `json:"$ref"`
	Items                *typeSpec  `json:"items"`
	AdditionalProperties *typeSpec  `json:"additionalProperties"`
	OneOf                []typeSpec `json:"oneOf"`
}

type propertySpec struct {
	typeSpec
	Description          string          `json:"description"`
	DeprecationMessage   string          `json:"deprecationMessage"`
	Default              json.RawMessage `json:"default"`
	Const                json.RawMessage `json:"const"`
	Secret               bool            `json:"secret"`
	ReplaceOnChanges     bool            `json:"replaceOnChanges"`
	WillReplaceOnChanges bool            `json:"willReplaceOnChanges"`
	Language             struct {
		Husk struct {
			Computed  bool              `json:"computed"`
			Stable    bool              `json:"stable"`
			WriteOnly bool              `json:"writeOnly"`
			Minimum   *float64          `json:"minimum"`
			Maximum   *float64          `json:"maximum"`
			OneOf     []json.RawMessage `json:"oneOf"`
		} `json:"husk"`
	} `json:"language"`
}
