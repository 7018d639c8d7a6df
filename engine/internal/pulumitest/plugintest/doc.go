// Package plugintest calls providers that Husk serves with Pulumi's own client of plugins.
package plugintest
