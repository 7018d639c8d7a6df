// Package source reads YAML files that people write. Every [Diagnostic] shows a line of the file.
// Files are bounded in size, depth, and number of nodes, also with their aliases expanded.
package source
