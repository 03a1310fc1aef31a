// Package grant is the one table of what a process may do, line by line, and reads what the lines hold: what
// plugins declare, operators, publishers and locks give, and reports show. Each entry of a list has one form, in
// which it is compared.
package grant
