package pluginrun

import (
	"testing"

	"github.com/hashicorp/go-hclog"
)

func TestParseLog(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]entry{
		"plain": {hclog.Info, "plain"},
		`{"@level":"warn","@message":"m","@module":"x","@timestamp":"t","k":1,"s":"a b","w":"word"}`: {hclog.Warn, `m k=1 s="a b" w=word`},
		`{"time":"t","level":"ERROR","msg":"m","g":{"k":[1]}}`:                                       {hclog.Error, `m g={"k":[1]}`},
		`{"level":"DEBUG-4","msg":"m"}`:                                                              {hclog.Debug, "m"},
		`{"level":"warning","msg":"m"}`:                                                              {hclog.Warn, "m"},
		`{"level":7,"msg":"m"}`:                                                                      {hclog.Info, "m"},
		`{"level":"error","msg":7}`:                                                                  {hclog.Info, `{"level":"error","msg":7}`},
		`{"level":"error"}`:                                                                          {hclog.Info, `{"level":"error"}`},
		`{"msg":"m"`:                                                                                 {hclog.Info, `m`},
		`{"msg":"m",`:                                                                                {hclog.Info, `{"msg":"m",`},
		`time=2026-01-02T03:04:05.000Z level=WARN+1 msg="two words" k=v`:                             {hclog.Warn, "two words k=v"},
		`time=2026-01-02T03:04:05.000Z level=INFO msg=word`:                                          {hclog.Info, "word"},
		"2026-01-02T03:04:05.000Z [ERROR] name: message: k=v":                                        {hclog.Error, "name: message: k=v"},
		"2026-01-02T03:04:05.000+0100 [WARN]  message":                                               {hclog.Warn, "message"},
		"2026/01/02 03:04:05 DEBUG message k=v":                                                      {hclog.Debug, "message k=v"},
		"2026/01/02 03:04:05.123456 message":                                                         {hclog.Info, "message"},
		"2026/01/02 message":                                                                         {hclog.Info, "2026/01/02 message"},
		"time flies":                                                                                 {hclog.Info, "time flies"},
		"":                                                                                           {hclog.Info, ""},
	} {
		if level, text := parseLog(line); (entry{level, text}) != want {
			t.Errorf("%s: %v %q, want %v", line, level, text, want)
		}
	}
}

func TestCutHandshake(t *testing.T) {
	t.Parallel()
	const honest = "1|1|unix|/d/plugin|grpc\n"
	for line, want := range map[string]struct {
		before string
		ok     bool
	}{
		honest: {"", true}, "no newline" + honest: {"no newline", true}, "step 1" + honest: {"step 1", true},
		"99|1|unix|x|grpc\n": {"", true}, "1|x|unix|x\n": {"", true},
		"hello\n": {"hello\n", false}, "a|b|c|d\n": {"a|b|c|d\n", false}, "1|2\n": {"1|2\n", false}, "1|1|un": {"1|1|un", false}, "": {"", false},
	} {
		before, handshake, ok := cutHandshake(line)
		if before != want.before || ok != want.ok || ok && before+handshake != line {
			t.Errorf("%q: %q, %q, %v", line, before, handshake, ok)
		}
	}
}
