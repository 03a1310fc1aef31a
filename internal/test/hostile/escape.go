package hostile

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What a plugin may do outside of its own process, or to it.
const (
	Segfault   plugintest.Mode = "segfault"   // touches memory that is not its own, with no runtime to see to it
	Litter     plugintest.Mode = "litter"     // starts a process that holds its pipes
	LitterExit plugintest.Mode = "litterexit" // starts one and exits with 7 in the call
	LitterDie  plugintest.Mode = "litterdie"  // starts one and exits with 7 before its handshake
	OwnSession plugintest.Mode = "ownsession" // starts one that has made a session of its own
	OwnExit    plugintest.Mode = "ownexit"    // starts one that has, and exits with 7 in the call
	Thief      plugintest.Mode = "thief"      // reads what it can of the host, see Loot
)

func escapeModes() map[plugintest.Mode]func() {
	return map[plugintest.Mode]func(){
		Segfault: server{answer: func(call) {
			warn()
			segfault()
		}}.serve,
		Litter:     server{answer: func(c call) { warn(); c.reply(text(fmt.Sprint(litter(false)))) }}.serve,
		LitterExit: server{answer: func(call) { warn(); litter(false); os.Exit(7) }}.serve,
		LitterDie:  func() { warn(); litter(false); os.Exit(7) },
		OwnSession: server{answer: func(c call) { warn(); c.reply(text(fmt.Sprint(litter(true)))) }}.serve,
		OwnExit:    server{answer: func(call) { warn(); litter(true); os.Exit(7) }}.serve,
		Thief:      func() { pluginsdk.Main(thief()) },
	}
}

// litter starts a process that holds standard output and standard error, and
// tells its number.
func litter(session bool) int {
	cmd := exec.Command("/bin/sleep", "3600") //nolint:noctx // it is not ended, on purpose
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if session {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	must(cmd.Start())
	return cmd.Process.Pid
}

// Secret is a variable that plugins have no business to see.
const Secret = "TOOLHOST_TEST_SECRET"

// Loot is what [Thief] can get at.
type Loot struct {
	// Env are the variables called [Secret] of other processes.
	Env []string `json:"env"`
	// Inherited are the open descriptors above standard error, without those that
	// the Go runtime opens, and without sockets.
	Inherited []string `json:"inherited"`
}

func thief() tool.Tool {
	var loot Loot
	fds, _ := os.ReadDir("/proc/self/fd")
	for _, fd := range fds {
		target, err := os.Readlink(filepath.Join("/proc/self/fd", fd.Name()))
		if err == nil && (len(fd.Name()) > 1 || fd.Name() > "2") && !strings.Contains(target, "anon_inode:") &&
			!strings.HasPrefix(target, "/proc/") && !strings.HasPrefix(target, "/sys/") && !strings.HasPrefix(target, "socket:") {
			loot.Inherited = append(loot.Inherited, fd.Name()+" "+target)
		}
	}
	return pluginsdk.Func(Tool, "Shows what it could get of the host.", func(context.Context, none) (Loot, error) {
		files, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, file := range files {
			env, _ := os.ReadFile(file)
			for kv := range strings.SplitSeq(string(env), "\x00") {
				if strings.HasPrefix(kv, Secret+"=") {
					loot.Env = append(loot.Env, file+" "+kv)
				}
			}
		}
		return loot, nil
	}, pluginsdk.Safe())
}
