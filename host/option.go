package host

import (
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Option sets one thing of a host. Order does not matter.
type Option func(*options)

type options struct {
	root         string
	logger       hclog.Logger
	startTimeout time.Duration
	callTimeout  time.Duration
	pluginEnv    []string
}

// WithRoot is the workspace that plugins work on. Default: the current
// directory.
func WithRoot(dir string) Option { return func(o *options) { o.root = dir } }

// WithLogger takes what happens to plugins, and what they print. Default:
// nothing is logged.
func WithLogger(l hclog.Logger) Option { return func(o *options) { o.logger = l } }

// WithStartTimeout bounds the start of a plugin, from fork to description.
// Default: 10 s; 0 or less means the default.
func WithStartTimeout(d time.Duration) Option { return func(o *options) { o.startTimeout = d } }

// WithCallTimeout bounds one attempt of a tool that names no limit itself.
// Default: 60 s; 0 or less means no bound.
func WithCallTimeout(d time.Duration) Option { return func(o *options) { o.callTimeout = d } }

// WithPluginEnv adds variables, NAME=value, to the few of the host's
// environment that plugins see.
func WithPluginEnv(env ...string) Option {
	return func(o *options) { o.pluginEnv = append(o.pluginEnv, env...) }
}

// SessionOption sets one thing of a session. Order does not matter.
type SessionOption func(*Session)

// WithGrants gives the session capabilities. Default: none.
func WithGrants(caps ...tool.Capability) SessionOption {
	return func(s *Session) { s.Grant(caps...) }
}

// WithApprover decides on dangerous calls. Default: nobody, which means no.
func WithApprover(a policy.Approver) SessionOption { return func(s *Session) { s.approver = a } }

// WithSessionID names the session. Default: a random text. Two sessions with
// one ID share what plugins keep for it.
func WithSessionID(id string) SessionOption { return func(s *Session) { s.id = id } }
