package pluginrun

// KeptBinaries is how many binaries of a plugin are kept.
const KeptBinaries = 3
