package fleet

import (
	"encoding/json"
	"testing"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/fault"
	"github.com/toolhost/toolhost/internal/ident"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Whatever a known host signs as its announcement can be shown, and has the sizes that it may have.
func FuzzAnnouncement(f *testing.F) {
	key := require.Must(NewKey())(f)
	a := announcement{
		Protocol: spoken, Name: "b", Key: key.Public(), Instance: make([]byte, instanceSize), Seq: 1,
		Labels: map[string]string{"gpu": "1"}, Load: load{Slots: 4},
	}
	newer := a
	newer.Protocol = protocol{spoken.Max + 1, spoken.Max + 2}
	for _, one := range []announcement{a, newer} {
		data := require.Must(one.sign(key))(f)
		f.Add(data[signatureSize:])
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := parseAnnouncement(append(make([]byte, signatureSize), text...))
		if err != nil {
			return
		}
		if len(a.id()) == 0 || !validKey(a.Key) || a.cleanName() != sanitize.Line(a.cleanName(), maxLabelLength) {
			t.Errorf("%+v", a)
		}
		if a.foreign() == "" && (!ident.Valid(a.Name) || len(a.Labels) > maxLabels || len(a.Version) > maxLabelLength) {
			t.Errorf("%+v", a)
		}
	})
}

// What a tool says in its result never passes for the answer of its host, however it is written.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"toolhost.fleet/answer":{"reset":true}}`, `{"toolhost.fleet\/answer":{}}`, `{"\u0074oolhost.fleet/answer":{"reset":true},"a":1}`,
		`{"a":"toolhost.fleet"}`, `{"toolhost.fleet/answer":{"error":{"code":"crashed","message":"\u001b[2J"}}}`, `{`,
		`{"phases":{"ran":"1.5ms","bytes_in":7}}`, `{"phases":{"own":1,"own":-2,"sent":"2µs"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, meta []byte) {
		if !json.Valid(meta) {
			return // the chain has refused it
		}
		if _, a := answerOf(withoutAnswer(tool.Result{Meta: meta})); a != (answer{}) {
			t.Errorf("%s passes for %+v", meta, a)
		}
		var read struct {
			Phases *policy.Phases `json:"phases"`
		}
		if quick, ok := quickAnswerOf(meta); ok && (json.Unmarshal(meta, &read) != nil || read.Phases == nil || *read.Phases != *quick.Phases) {
			t.Errorf("%s is read as %+v", meta, quick.Phases)
		}
		_, a := answerOf(tool.Result{Meta: meta})
		if a.Error == nil {
			return
		}
		if e := a.Error.clean(); e.Message == "" || len(e.Message) > fault.MaxMessage || e.Message != sanitize.Line(e.Message, fault.MaxMessage) {
			t.Errorf("%s is shown as %+v", meta, e)
		}
	})
}
