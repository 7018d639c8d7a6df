// Package js has what programs of Node.js find around them in a JavaScript engine, for providers that run one. The folder is the
// npm package @husk/provider, the SDK for providers in JavaScript.
package js

import _ "embed"

// Runtime is a script that an engine runs once: the globals of Node.js and its modules that work in a sandbox. It asks the
// provider through __host, and shares __runtime with the script that serves calls.
//
//go:embed runtime.js
var Runtime string

// Streams is a script that an engine runs after Runtime: streams of Node.js, requests by http and https, and forms.
//
//go:embed streams.js
var Streams string

// Intl is a script that an engine runs after Runtime: Intl in a small form, which QuickJS does not have.
//
//go:embed intl.js
var Intl string
