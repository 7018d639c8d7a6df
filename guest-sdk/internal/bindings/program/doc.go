// Package program holds the exports of a program's module.
package program
