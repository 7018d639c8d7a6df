// Package source reads YAML files that people write, and tells them what is wrong
// with them: every [Diagnostic] names a file, a line, and a column, and is shown
// with the line it is about. It knows the shape of YAML, and nothing of what the
// files mean; packages program and yamlprogram do.
//
// Files are bounded in size, depth, and number of nodes before anything walks
// them, so that an alias that expands to billions of nodes is refused.
package source
