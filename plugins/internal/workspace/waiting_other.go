//go:build !unix

package workspace

// withoutWaiting is nothing here: these systems have no named pipes among
// their files.
const withoutWaiting = 0
