package main

import "testing"

func TestComplete(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "player")
	w.write("callers.yaml", "callers: {robot: {uid: 4711}}")
	w.mcpConfig(map[string]any{"one": mcpServer(), "two": mcpServer()})
	w.run("tools").exits(0) // from now on, the plugins need not start
	for _, c := range []struct {
		words []string
		want  []string
	}{
		{[]string{"call", ""}, []string{"fs.read\tReads a file", "play.echo\tAnswers with its arguments.\n"}},
		{[]string{"tools", "show", ""}, []string{"fs.write\t"}},
		{[]string{"plugins", "show", ""}, []string{"fs\tidle\n", "player\tidle\n"}},
		{[]string{"call", "fs.read", "--grant", ""}, []string{"fs:read\nfs:write\n"}},
		{[]string{"call", "fs.edit", "--arg", "path=a", "--arg", ""}, []string{"original=\tthe text to replace", "replace_all=\t", "\n:6\n"}},
		{[]string{"call", "fs.edit", "--arg", "replace_all="}, []string{"replace_all=true\nreplace_all=false\n"}},
		{[]string{"call", "fs.edot", "--arg", ""}, []string{":6\n"}},
		{[]string{"plugins", "enable", ""}, []string{"fs\tidle\n"}},
		{[]string{"audit", "--code", ""}, []string{"ok\n", "permission_denied\n"}},
		{[]string{"--config", w.root + "/callers.yaml", "audit", "--caller", ""}, []string{"cli\nrobot\n"}},
		{[]string{"tools", "--category", ""}, []string{"destructive\nfilesystem\nodd\n"}},
		{[]string{"tools", "--max-safety", ""}, []string{"safe\ncautious\ndangerous\n"}},
		{[]string{"plugins", "import", w.root + "/mcp.json", ""}, []string{"one\ntwo\n:4\n"}},
		{[]string{"plugins", "import", w.root + "/mcp.json", "one", ""}, []string{"two\n:4\n"}},
		{[]string{"--log-level", ""}, []string{"trace\ndebug\n"}},
	} {
		w.bare(append([]string{"__complete", "--plugin-dir", w.plugins}, c.words...)...).exits(0).prints(c.want...)
	}
	w.bare("__complete", "--plugin-dir", w.root+"/nowhere", "call", "").exits(0)
}
