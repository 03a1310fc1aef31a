// Package grant reads what a process is given, or says that it needs: the entries of the lists that plugins,
// operators, publishers and locks have. Each entry has one form, in which it is compared.
package grant
