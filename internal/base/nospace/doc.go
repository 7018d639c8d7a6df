// Package nospace tells errors of full disks from others.
package nospace
