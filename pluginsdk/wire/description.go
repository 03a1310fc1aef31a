package wire

import (
	"encoding/json"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Description is what a plugin says of itself.
type Description struct {
	// Name and Version are the plugin's own words.
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// SDK is what the plugin was built with, such as "toolhost-go/0.1.0".
	SDK string `json:"sdk,omitempty"`
	// ConfigSchema describes [Config.JSON]; empty: no configuration.
	ConfigSchema tool.Schema `json:"config_schema,omitempty"`
	// Tools are the definitions, as claimed.
	Tools []tool.Definition `json:"tools"`
	// Features are optional abilities by name.
	Features []string `json:"features,omitempty"`
}

// Config is what the operator decided for a plugin.
type Config struct {
	// Root is the workspace, an absolute path; also the working directory.
	Root string
	// JSON is an object that fits the plugin's configuration schema; empty:
	// nothing was configured.
	JSON json.RawMessage
	// Protected are the files and directories that tools must not change, absolute,
	// with links resolved.
	Protected []string
}
