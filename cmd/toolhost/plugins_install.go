package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/installer"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/installed"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const aboutInstall = `Install a plugin from its package: find the version, take the file for this machine, check its
digest and its signature, show what it is, ask, put it in place, and pin it.

REF is one of

  oci://HOST/REPOSITORY[:TAG]        a registry; without a tag the newest
  https://HOST/PATH/NAME.tar         a package on a web server
  https://HOST/PATH/#NAME[@VERSION]  a directory with an index.json
  FILE.tar, DIRECTORY#NAME[@VERSION] the same on a disk

A directory with one plugin needs no #NAME, and any REF may end in the package's @sha256:DIGEST.
An interrupted download resumes while the command runs.

It shows the tools with their safety, what they ask of callers, what the process needs, and what
is new, and asks. Without a terminal, and with --json, --yes is the answer. What trust: forbids is
never installed.

Plugins go to a directory of toolhost's own (install_dir). The lock next to it pins the files of
all platforms that a package has, and where it came from; with --pin, or if the configuration
names plugins or plugin_dirs, the project's toolhost.lock does too.

Without a REF, what the project's lock pins, else the user's, is installed, or exchanged in either
direction, from where the lock says. Nothing is asked: the lock is the confirmation, also for what
was withdrawn. Nothing is removed, the lock is not written, and plugins that toolhost did not
install are left alone. With --mirror no other server is asked.

With --download the packages that are named, or that the lock pins, are only copied to a
directory, for all platforms and with an index.json. Serve or carry it: --mirror DIR, or DIR#NAME
as a REF.

With --check nothing changes, and the exit status is 1 if anything would, or if there is a notice
of what is installed: without a REF, by what upgrade --check found last.`

// installFlags are the flags of commands that install something.
type installFlags struct {
	version                       string
	yes, noLock, downgrade, force bool
	pin                           bool
}

func newPluginsInstallCommand(s *session.Session) *cobra.Command {
	var f installFlags
	var mirror, download string
	var check bool
	cmd := &cobra.Command{
		Use:   "install [REF...]",
		Short: "Install plugins from registries, web servers and files, or what the lock pins",
		Long:  aboutInstall,
		Example: `  toolhost plugins install oci://registry.example/tools/files --version 1.2.0
  toolhost plugins install ./files-1.2.0.tar --yes
  toolhost plugins install --check
  toolhost plugins install --download /media/stick/plugins
  toolhost plugins install --mirror /media/stick/plugins`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.version != "" && len(args) != 1:
				return exit.Usage("--version is for one REF", "name the package; what the lock pins has its version")
			case mirror != "" && len(args) > 0:
				return exit.Usage("--mirror is for what the lock pins", "write "+sanitize.Text(mirror)+"#NAME in place of a REF")
			}
			f.yes = f.yes || len(args) == 0 || check || download != ""
			return installing(cmd.Context(), s, f, strings.Join(append([]string{"toolhost plugins install"}, args...), " "), func(i *install) error {
				switch {
				case download != "":
					return i.download(cmd.Context(), download, args)
				case len(args) == 0:
					return i.sync(cmd.Context(), mirror, check)
				}
				return i.refs(cmd.Context(), args, check)
			})
		},
	}
	f.bind(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.version, "version", "", "`VERSION` to install, such as 1.2.0 (default: the newest release)")
	flags.BoolVar(&check, "check", false, "say what would be done, and do nothing")
	flags.BoolVar(&f.pin, "pin", false, "pin it for this project too: in a "+pins.LockName+" that counts for commands here")
	flags.StringVar(&mirror, "mirror", "", "without REF: take the packages from this `DIR` or URL")
	flags.StringVar(&download, "download", "", "install nothing, and copy the packages to this `DIR`")
	_ = cmd.MarkFlagDirname("mirror")
	_ = cmd.MarkFlagDirname("download")
	cmd.MarkFlagsMutuallyExclusive("check", "download")
	cmd.MarkFlagsMutuallyExclusive("pin", "no-lock", "download")
	cmd.MarkFlagsMutuallyExclusive("mirror", "download")
	return cmd
}

func (f *installFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.yes, "yes", false, "do not ask")
	flags.BoolVar(&f.noLock, "no-lock", false, "do not pin it; it is refused where a lock is in effect")
	flags.BoolVar(&f.downgrade, "downgrade", false, "go back to an older version")
	flags.BoolVar(&f.force, "force", false, "take other bytes of the same version, or a package that lost its signature or was withdrawn")
}

// install is one run of a command that installs plugins.
type install struct {
	*installer.Installer
	s     *session.Session
	flags installFlags
	lock  *installLock
}

// installing opens what commands that install need, and runs f.
func installing(ctx context.Context, s *session.Session, f installFlags, doing string, run func(*install) error) error {
	if s.Flags.JSON && !f.yes {
		return exit.Usage("--json does not ask", "add --yes")
	}
	lock, err := openInstallLock(s, f.noLock, f.pin)
	if err != nil {
		return err
	}
	i, err := installer.Open(ctx, s, doing)
	if err != nil {
		return err
	}
	lock.dir = i.Dir
	return errors.Join(run(&install{i, s, f, lock}), i.Close())
}

// installation is the outcome of installing one plugin.
type installation struct {
	installer.Plan
	// Lock are the files that pin it. None: it is not pinned.
	Lock []string `json:"lock,omitempty"`
	// Served says whether the daemon serves it. Empty: none runs, or has other plugin directories.
	Served string `json:"served,omitempty"`
	// Reason says why it does not.
	Reason string `json:"reason,omitempty"`
}

// one installs a plugin.
func (i *install) one(ctx context.Context, w installer.Wish) (installation, error) {
	w.Downgrade, w.Force, w.Pinned = i.flags.downgrade, i.flags.force, i.lock.pinned()
	c, err := i.Find(ctx, w)
	if err != nil {
		return installation{}, err
	}
	done, err := i.put(ctx, c)
	return done, errors.Join(err, c.Close())
}

// put asks about a package and puts it in place.
func (i *install) put(ctx context.Context, c *installer.Candidate) (installation, error) {
	out := installation{Plan: c.Plan}
	if c.Plan.Action == installer.Nothing && i.lock.has(c.Plan) {
		return out, nil
	}
	if err := i.confirm(ctx, c.Plan); err != nil {
		return out, err
	}
	prepared, err := i.Prepare(ctx, c)
	if err != nil {
		return out, err
	}
	return i.finish(ctx, out, prepared, c.Manifest)
}

// confirm shows a plan and asks, unless the answer was given.
func (i *install) confirm(ctx context.Context, p installer.Plan) error {
	if i.flags.yes {
		if !i.s.Flags.JSON {
			i.s.Out.Text(p.Text())
		}
		return nil
	}
	return i.s.Confirm(ctx, sanitize.Text(p.Text()), "Install it? [y/N] ",
		tool.Errorf(tool.CodeApprovalRequired, "%s was not installed: there is no terminal to ask at", p.String()).
			Of("", p.Plugin).Try("read what it is, and add --yes"),
		tool.Errorf(tool.CodeApprovalDenied, "%s was not installed: the answer was not yes", p.String()).Of("", p.Plugin))
}

// finish pins a version that is ready, puts it in place, and tells the daemon. If it cannot be put in
// place, the lock is as it was.
func (i *install) finish(ctx context.Context, out installation, p *installed.Prepared, m manifest) (installation, error) {
	written, err := i.lock.write(out.Plan, m)
	if err != nil {
		return out, errors.Join(err, p.Discard())
	}
	out.Lock = written.files
	at := i.Dir.PluginDir() + "/" + out.Plugin
	unrecorded := acceptNeeds(i.s, []plugin.Status{{Name: out.Plugin, Path: at, Needs: m.Needs}})
	if err := p.Put(); err != nil {
		return out, errors.Join(tool.Errorf(tool.CodeUnavailable, "%s could not be put in place: %w", out.String(), err).
			Of("", out.Plugin), written.undo(), p.Discard())
	}
	i.s.Did("%s of %s, sha256:%s, %s", out.String(), out.Source, out.SHA256, out.Signature)
	if unrecorded != nil {
		i.s.Warn(&tool.Error{Plugin: out.Plugin, Message: "what it needs could not be noted as accepted: " + unrecorded.Error(), Hint: "toolhost plugins lock"})
	}
	out.Served, out.Reason = i.served(ctx, out.Plan)
	return out, nil
}

// warnOf says what is to be known of a version, where no person was shown its plan.
func (i *install) warnOf(p installer.Plan) {
	for _, notice := range p.Notices {
		i.s.Warn(&tool.Error{Plugin: p.Plugin, Message: p.String() + ": " + notice})
	}
}

// report prints what was installed.
func (i *install) report(done installation, err error) error {
	switch {
	case i.s.Flags.JSON && done.Plugin == "":
		return err
	case i.s.Flags.JSON:
		return i.s.Out.Report(done, err)
	case err == nil:
		i.s.Out.Text(done.text())
		i.noteUnserved()
	}
	return err
}

// noteUnserved says so if flags or the environment name other plugin directories.
func (i *install) noteUnserved() {
	if d := i.s.Settings().Dirs; d.Installed == "" {
		i.s.Notef("%s names the plugin directories, and what is installed is not among them: leave it out, or add %s", d.Source, i.Dir.PluginDir())
	}
}

func (d installation) text() string {
	var b strings.Builder
	if d.Action == installer.Nothing && d.Lock == nil {
		return d.String() + " is installed\n"
	}
	b.WriteString("installed " + d.String())
	if d.Before != "" && d.Before != d.Version {
		b.WriteString(" in place of " + d.Before)
	}
	if len(d.Lock) > 0 {
		b.WriteString(", pinned in " + strings.Join(d.Lock, " and "))
	}
	b.WriteString("\n")
	switch {
	case d.Served == "":
	case d.Reason == "":
		b.WriteString("the daemon serves it\n")
	default:
		b.WriteString("the daemon does not serve it: " + d.Reason + "\n")
	}
	return b.String()
}
