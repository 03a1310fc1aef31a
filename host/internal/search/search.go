// Package search finds tools by words that a model would use. Start with [New].
//
// It ranks by BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and
// Beyond", 2009) over names, titles, descriptions and arguments. A word of a name counts as
// often as several of a description, and words that mean about the same count as one.
package search

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The parameters of BM25, and the weights of a word by its place.
const (
	saturation = 1.2 // k1
	lengths    = 0.6 // b: by how much long texts count less

	inName        = 4
	inTitle       = 2
	inDescription = 1
	inArgument    = 1
)

const (
	maxQuery  = 32   // words of a query that count
	maxWords  = 2000 // of a tool that count
	maxLevels = 4    // of arguments
	maxPrefix = 4    // characters from which a word is found by its beginning
	less      = 0.4  // what that, or a word that means about the same, counts for
)

// Index finds tools. It never changes, and is safe for concurrent use.
type Index struct {
	postings map[string][]posting
	words    []string // of postings, sorted
	sizes    []float64
	average  float64
}

type posting struct {
	tool  int32
	count float32
}

// Tool is a tool and the words that the operator gives it.
type Tool struct {
	*tool.Definition

	Also []string
}

// New returns an index of tools.
func New(tools []Tool) *Index {
	x := &Index{postings: map[string][]posting{}, sizes: make([]float64, len(tools))}
	total := 0.0
	for i, t := range tools {
		counts := countWords(t)
		for w, n := range counts {
			x.postings[w] = append(x.postings[w], posting{int32(i), n}) //nolint:gosec // an index of a slice
			x.sizes[i] += float64(n)
		}
		total += x.sizes[i]
	}
	x.average = total / float64(max(len(tools), 1))
	x.words = slices.Sorted(maps.Keys(x.postings))
	return x
}

func countWords(t Tool) map[string]float32 {
	counts := map[string]float32{}
	left := maxWords
	add := func(text string, weight float32) {
		for _, w := range split(text) {
			if left--; left < 0 {
				return
			}
			counts[w] += weight
		}
	}
	add(t.Name, inName)
	add(strings.Join(t.Also, " "), inName)
	add(t.Title, inTitle)
	for _, c := range t.Categories {
		add(c, inTitle)
	}
	add(t.Description, inDescription)
	addArguments(t.InputSchema, maxLevels, add)
	return counts
}

// addArguments adds the names and descriptions of arguments.
func addArguments(schema json.RawMessage, levels int, add func(string, float32)) {
	var s struct {
		Description string
		Properties  map[string]json.RawMessage
		Items       json.RawMessage
	}
	if levels == 0 || len(schema) == 0 || json.Unmarshal(schema, &s) != nil {
		return
	}
	add(s.Description, inArgument)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		add(name, inArgument)
		addArguments(s.Properties[name], levels-1, add)
	}
	addArguments(s.Items, levels-1, add)
}

// Find returns the numbers of at most so many tools that fit a query, the best first, and those
// that fit as well in their order. It passes over tools that allow refuses, which is asked in no
// particular order.
func (x *Index) Find(query string, most int, allow func(int) bool) []int {
	scores := map[int32]float64{}
	words := split(query)
	slices.Sort(words)
	words = slices.Compact(words)
	for _, w := range words[:min(len(words), maxQuery)] {
		x.score(scores, w)
	}
	found := make([]int32, 0, len(scores))
	for i := range scores {
		found = append(found, i)
	}
	slices.SortFunc(found, func(a, b int32) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b))
	})
	out := make([]int, 0, most)
	for _, i := range found {
		if len(out) == most {
			break
		}
		if allow(int(i)) {
			out = append(out, int(i))
		}
	}
	return out
}

// score adds what a word of a query counts for: it, the words that begin with it and those that mean
// about the same are one word, which a tool has as often as all of them together, each by its weight.
func (x *Index) score(scores map[int32]float64, word string) {
	counts := map[int32]float64{}
	add := func(w string, weight float64) {
		for _, p := range x.postings[w] {
			counts[p.tool] += weight * float64(p.count)
		}
	}
	add(word, 1)
	if len(word) >= maxPrefix {
		from, _ := slices.BinarySearch(x.words, word)
		for _, longer := range x.words[from:] {
			if !strings.HasPrefix(longer, word) {
				break
			}
			if longer != word {
				add(longer, less)
			}
		}
	}
	for _, w := range synonyms()[word] {
		add(w, less)
	}
	n, exact := float64(len(x.sizes)), float64(len(x.postings[word]))
	have := exact + less*(float64(len(counts))-exact) // so "read" stays rarer than all that it may mean
	rarity := math.Log(1 + (n-have+0.5)/(have+0.5))
	for i, count := range counts {
		size := 1 - lengths + lengths*x.sizes[i]/x.average
		scores[i] += rarity * count * (saturation + 1) / (count + saturation*size)
	}
}

// split returns the words of a text: in lower case, apart at everything that is not a letter or
// a digit and where fooBar and HTTPServer have their parts, without endings and without words
// that every text has.
func split(text string) []string {
	var out []string
	add := func(w []rune) {
		if s := stem(strings.ToLower(string(w))); s != "" && !common()[s] {
			out = append(out, s)
		}
	}
	runes := []rune(text)
	start := -1
	for i, r := range runes {
		inWord := unicode.IsLetter(r) || unicode.IsDigit(r)
		if start >= 0 && (!inWord || begins(runes, i)) {
			add(runes[start:i])
			start = -1
		}
		if inWord && start < 0 {
			start = i
		}
	}
	if start >= 0 {
		add(runes[start:])
	}
	return out
}

// begins reports whether a part of a name such as fooBar or HTTPServer begins at i.
func begins(runes []rune, i int) bool {
	if i == 0 || !unicode.IsUpper(runes[i]) {
		return false
	}
	return unicode.IsLower(runes[i-1]) ||
		unicode.IsUpper(runes[i-1]) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
}

// stem takes the endings off an English word that a query and a description are most likely to
// differ by.
func stem(w string) string {
	cut := func(ending, by string) bool {
		rest, ok := strings.CutSuffix(w, ending)
		if ok && len(rest) >= 3 {
			w = rest + by
			return true
		}
		return false
	}
	if !strings.HasSuffix(w, "ss") && !cut("ies", "y") && !cut("sses", "ss") {
		cut("s", "")
	}
	if cut("ing", "") || cut("ed", "") {
		if n := len(w); n > 3 && w[n-1] == w[n-2] { // running, stopped
			w = w[:n-1]
		}
	}
	if len(w) > 4 {
		w = strings.TrimSuffix(w, "e") // delete and deleting
	}
	return w
}
