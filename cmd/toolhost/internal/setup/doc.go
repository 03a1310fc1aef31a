// Package setup says what a configuration file means to a host: its options, its
// settings of plugins, its overrides of tools, and its callers. Begin with [Load],
// which also refuses what no host can do.
//
// Nothing here starts, opens or changes anything but that [plugin.Settings] reads what
// variables of environments refer to.
package setup
