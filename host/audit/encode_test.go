package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/redact"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func encoded(r Record) string { return "{" + string(appendRecord(nil, &r)) + "}" }

func full() Record {
	r := record(0)
	r.Account, r.Via, r.Client = "lab", "mcp", "codex 1.2"
	r.Event, r.Definition, r.Approver, r.Decision = Begin, Digest(nil), "operator", Approved
	r.Parent, r.Trace = "c9", "4bf92f3577b34da6a3ce929d0e0e4736"
	r.Phases = &policy.Phases{
		Asked: 1, Retried: 2e3, Started: 3e6, Handshake: 4e6, Queued: 5e9, Ahead: 6, Own: 7, Sent: 8, Ran: 9, Checked: 10,
		BytesIn: 11, BytesOut: 12, EstimatedTokens: 5, On: "b", There: &policy.Phases{Queued: 1, On: "c", There: &policy.Phases{}},
	}
	r.Code, r.Message = tool.CodeToolFailed, "no such file"
	r.AskedArguments, r.AskedInput = Digest(nil), json.RawMessage(`{"path":"b.txt"}`)
	return r
}

func TestEncode(t *testing.T) {
	t.Parallel()
	const empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	const braces = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
	equal(t, "a full record", encoded(full()), `{"time":"2026-10-11T12:00:00Z","event":"begin","call":"c0","parent":"c9","trace":"4bf92f3577b34da6a3ce929d0e0e4736","caller":"cli","account":"lab","via":"mcp","client":"codex 1.2","session":"session-1","tool":"fs.read","plugin":"fs",`+
		`"definition":"`+empty+`","arguments":"`+braces+`","input":{"path":"a.txt"},`+
		`"asked_arguments":"`+empty+`","asked_input":{"path":"b.txt"},"decision":"approved","approver":"operator",`+
		`"attempts":1,"duration":"1.5ms","phases":{"asked":"1ns","retried":"2µs","started":"3ms","handshake":"4ms","queued":"5s","ahead":6,"own":7,`+
		`"sent":"8ns","ran":"9ns","checked":"10ns","bytes_in":11,"bytes_out":12,"estimated_tokens":5,"on":"b","there":{"queued":"1ns","on":"c","there":{}}},"code":"tool_failed","message":"no such file"}`)
	equal(t, "an empty record", encoded(Record{Time: start}),
		`{"time":"2026-10-11T12:00:00Z","event":"","tool":"","attempts":0,"duration":"0s"}`)
	if !strings.HasPrefix(encoded(Record{}), `{"time":"20`) {
		t.Errorf("without a time: %s", encoded(Record{}))
	}
}

// The encoder is written by hand: the tags of the struct, by which it is read,
// have to say the same.
func TestEncodeAsTagged(t *testing.T) {
	t.Parallel()
	var back Record
	require.NoError(t, json.Unmarshal([]byte(encoded(full())), &back))
	if !reflect.DeepEqual(back, full()) {
		t.Errorf("read back:\n%+v\nwant\n%+v", back, full())
	}
	uid := 1000
	for _, r := range []Record{full(), {Time: start}, {Time: start, Phases: &policy.Phases{}}, {Time: start, Event: Admin, Action: "tokens new", Object: "laptop", UID: &uid, Caller: "cli", Message: "token 3f2a"}} {
		tagged := require.Must(json.Marshal(r))(t)
		equal(t, "a record by its tags", string(tagged), encoded(r))
	}
}

func TestEncodeInput(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"{ \"a\" :\t[ 1 ,\r\n\"x y\" ] }":     `{"a":[1,"x y"]}`,
		`"\\\" {\n"`:                          `"\\\" {\n"`,
		"\"\u202e\u009b\x7f\U000e0001 ä 世\"":  `"\u202e\u009b\u007f\udb40\udc01 ä 世"`,
		"\"\xff\"":                            "",
		`{"a":`:                               "",
		"":                                    "",
		`"` + strings.Repeat("a", 4094) + `"`: `"` + strings.Repeat("a", 4094) + `"`,
		`"` + strings.Repeat("a", 4095) + `"`: "",
	} {
		got, has := strings.CutPrefix(string(appendInput(nil, `,"input":`, json.RawMessage(in))), `,"input":`)
		if got != want || has != (want != "") {
			t.Errorf("the input %.100q becomes %.100q, want %.100q", in, got, want)
		}
	}
}

func TestEncodeText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ab世", 200)
	for in, want := range map[string]string{
		`a "b" \c`:                    `a \"b\" \\c`,
		"two\nlines\x1b[2J":           `two\\nlines\\x1b[2J`,
		strings.Repeat("a", maxText):  strings.Repeat("a", maxText),
		long:                          long[:maxText-3-1] + "…",
		strings.Repeat("\n", maxText): strings.Repeat(`\\n`, (maxText-3)/2) + `\\…`,
	} {
		assert.Equalf(t, string(appendText(nil, in, maxText)), want, "%.50q becomes", in)
	}
}

// What is longer than maxLine is taken for garbage: no record may be.
func TestLongestLine(t *testing.T) {
	t.Parallel()
	worst := strings.Repeat(`\"`, 1<<20)
	r := Record{
		Event: worst, Call: worst, Caller: worst, Account: worst, Via: worst, Client: worst, Session: worst, Tool: worst, Plugin: worst, Definition: worst, Arguments: worst, Decision: worst,
		Approver: worst, Code: tool.Code(worst), Message: worst, Attempts: -1 << 62, Duration: -1 << 62,
		Action: worst, Object: worst, UID: new(int),
		Input: json.RawMessage(`"` + strings.Repeat("\x7f", redact.MaxInput-2) + `"`),
	}
	l := link{seq: 1<<62 - 1, prev: sum{1}, torn: sum{1}, oldest: 1<<62 - 1}
	line := l.appendLine([]byte("\n"), appendRecord(nil, &r))
	if len(line) > maxLine {
		t.Errorf("it has %d bytes, more than %d", len(line), maxLine)
	}
	if !json.Valid(line) {
		t.Errorf("it is not JSON: %s", line)
	}
}

// Each line can be read by anybody, shown on any terminal, and checked with no
// more than a hash function.
func FuzzLine(f *testing.F) {
	f.Add("fs.read", `{"a":"b","hash":"sha256:0"}`, "", "message", uint64(1))
	f.Add("\x00\xff\u202e\"\\", "\"\u009b\"", "{\"seq\":1,\"prev\":\"", "\n", uint64(1)<<61)
	f.Fuzz(func(t *testing.T, name, input, caller, message string, seq uint64) {
		r := Record{Event: End, Tool: name, Input: json.RawMessage(input), Caller: caller, Client: caller, Session: caller, Message: message, Call: message}
		want := link{seq: 1 + seq%maxSeq, prev: sha256.Sum256([]byte(name)), torn: sum{}, oldest: seq % 2}
		line := want.appendLine(nil, appendRecord(nil, &r))
		if strings.ContainsFunc(string(line[:len(line)-1]), func(c rune) bool { return !unicode.IsPrint(c) }) || !utf8.Valid(line) {
			t.Errorf("it does not print: %q", line)
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		line = line[:len(line)-1]
		got, ok := parseLink(line)
		before := slices.Clone(line)
		if !ok || got != want || !got.intact(line) || !slices.Equal(before, line) {
			t.Errorf("it is read as %+v, %v, want %+v", got, ok, want)
		}
		bare := strings.Replace(string(line), fmt.Sprintf(`,"hash":%q`, e.Hash), "", 1)
		hash := sha256.Sum256([]byte(bare))
		equal(t, "the hash", e.Hash, "sha256:"+hex.EncodeToString(hash[:]))
		if len(e.Message) > maxMessage || len(e.Tool) > maxText || len(e.Input) > 6*redact.MaxInput {
			t.Errorf("something is too long: %s", line)
		}
	})
}
