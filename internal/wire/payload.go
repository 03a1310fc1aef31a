package wire

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// ExecuteRequest and ExecuteResponse, the two messages of every call, are encoded in
// encode.go and decoded in decode.go by hand: the generated code needs a copy of each
// text and a dozen allocations. The encoding is the same, and the tests compare both
// directions with the generated code.

// The field numbers of plugin.proto that the hand-written code uses.
const (
	requestID        protowire.Number = 1
	requestTool      protowire.Number = 2
	requestArguments protowire.Number = 3
	requestSession   protowire.Number = 4
	requestTimeout   protowire.Number = 5
	requestProgress  protowire.Number = 6
	requestAsk       protowire.Number = 7
	requestTrace     protowire.Number = 8
	requestState     protowire.Number = 9
	requestDeltas    protowire.Number = 10
	requestCaller    protowire.Number = 11
	requestKey       protowire.Number = 12

	responseResult protowire.Number = 1
	responseError  protowire.Number = 2

	resultContent    protowire.Number = 1
	resultStructured protowire.Number = 2
	resultIsError    protowire.Number = 3
	resultMeta       protowire.Number = 4

	errorCode    protowire.Number = 1
	errorMessage protowire.Number = 2
	errorHint    protowire.Number = 3
	errorRetry   protowire.Number = 4

	contentText         protowire.Number = 1 // Text{1: text}
	contentImage        protowire.Number = 2 // Media{1: data, 2: mime_type}
	contentAudio        protowire.Number = 3 // Media
	contentResource     protowire.Number = 4 // Resource{1: uri, 2: mime_type, 3: text or 4: blob}
	contentResourceLink protowire.Number = 5 // ResourceLink{1: uri, 2: name, 3: description, 4: mime_type}
	contentExtra        protowire.Number = 6 // next to any of them

	mediaData    protowire.Number = 1
	resourceText protowire.Number = 3
	resourceBlob protowire.Number = 4
)

// request is a call as it is sent to a plugin.
type request struct {
	call     tool.Call
	timeout  time.Duration // how long the host will wait; 0: unknown; negative: already over
	progress bool          // the caller wants progress
	ask      bool          // the caller may answer questions
	deltas   bool          // the caller shows the text of the result as it comes
	trace    tool.Trace
}

// clean returns s with invalid UTF-8 replaced: protobuf rejects a whole message for one
// invalid byte, which should not cost a whole answer. Nearly all strings are valid, and
// utf8.ValidString checks eight or more bytes at a time, while strings.ToValidUTF8 goes
// rune by rune.
func clean(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// view returns b as a string without copying it. The caller must ensure that b is not
// modified while the string is in use: a decoder owns its input, and an encoder drops
// the string before it returns.
func view(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// cleanBytes is like [clean], for bytes.
func cleanBytes(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	return bytes.ToValidUTF8(b, []byte("\uFFFD"))
}

// cleanView returns b as a valid string, without copying it if it is valid already.
func cleanView(b []byte) string { return view(cleanBytes(b)) }

// orNil returns b, or nil if b is empty: proto3 does not distinguish the two.
func orNil(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

// appendProgress appends a Progress. It uses the generated code, because progress
// reports and log records are rare.
func appendProgress(b []byte, p tool.Progress) []byte {
	return appendMessage(b, &pluginv1.Progress{Done: p.Done, Total: p.Total, Message: clean(p.Message)})
}

// levels holds the levels of log records, from the lowest. Those of slog are 4 apart,
// and [slog.LevelDebug] is the second.
var levels = [...]string{"trace", "debug", "info", "warn", "error"}

// levelOf is the inverse of levelName.
func levelOf(name string) slog.Level {
	return slog.LevelDebug - 4 + slog.Level(4*slices.Index(levels[:], name))
}

func levelName(l slog.Level) string {
	const lowest = slog.LevelDebug - 4
	return levels[(min(max(l, lowest), slog.LevelError)-lowest)/4]
}

// appendLog appends a LogRecord.
func appendLog(b []byte, level, message string) []byte {
	return appendMessage(b, &pluginv1.LogRecord{Level: clean(level), Message: clean(message)})
}

// appendMessage appends m, whose strings must be valid UTF-8; nothing else can fail.
func appendMessage(b []byte, m proto.Message) []byte {
	b, _ = proto.MarshalOptions{}.MarshalAppend(b, m)
	return b
}

// parseProgress decodes a Progress. It treats a number that is not finite as unknown.
func parseProgress(b []byte) (tool.Progress, error) {
	var p pluginv1.Progress
	if err := proto.Unmarshal(b, &p); err != nil {
		return tool.Progress{}, fmt.Errorf("the progress is malformed: %w", err)
	}
	return tool.Progress{Done: finite(p.GetDone()), Total: finite(p.GetTotal()), Message: p.GetMessage()}, nil
}

func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// parseLog decodes a LogRecord.
func parseLog(b []byte) (level, message string, err error) {
	var p pluginv1.LogRecord
	if err := proto.Unmarshal(b, &p); err != nil {
		return "", "", fmt.Errorf("the log record is malformed: %w", err)
	}
	return p.GetLevel(), p.GetMessage(), nil
}
