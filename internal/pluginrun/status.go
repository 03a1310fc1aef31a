package pluginrun

import (
	"fmt"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

















// KeptBinaries is how many binaries of a plugin are kept.
const KeptBinaries = 3




