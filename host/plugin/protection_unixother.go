//go:build unix && !linux

package plugin

func systemProtections() []Protection {
	return append(unixProtections(),
		Protection{"concealment", false, "only Linux has it; plugins run as the same user, who may trace this process"},
		Protection{"parent-death signal", false, "only Linux has it; a plugin that does not notice that its host was killed lives on"},
		Protection{"PID namespace", false, "only Linux has them; descendants that left the process group are not ended"},
		Protection{"sweep", false, "only on Linux; what a killed host left is not found"},
	)
}
