// Package processgroup ends a process together with those that it has started. Plugins and programs of Pulumi are often
// scripts that start another process, which would survive them.
package processgroup
