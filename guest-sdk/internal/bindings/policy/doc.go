// Package policy holds the exports of a policy pack's module.
package policy
