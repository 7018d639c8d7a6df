// Package files sets and tells the permissions of files in the directories that a
// provider was granted. The rest of what is done with files is package os's, which
// works in a module, but WASI preview 1 knows no permissions: os.Chmod fails there.
package files
