// Package verify checks a plugin's binary, written in any language, against the plugin protocol:
// it starts the file as a host does, speaks to it directly and through the real host, and reports
// by name which checks it does not pass. Begin with [Run]; [Checks] is the table.
package verify
