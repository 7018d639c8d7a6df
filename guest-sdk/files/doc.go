// Package files sets and reports the permissions of files in the directories that a
// provider was granted. For everything else use package os. It works in a module,
// except that os.Chmod fails, because WASI preview 1 has no permissions.
package files
