package tools

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/ast/astutil"

	"github.com/toolhost/toolhost/internal/test/require"
)

// judge compares the answers of both.
type judge struct {
	*testing.T
	bench  *bench
	gopls  *gopls
	census *census
	parsed map[string]*ast.File
	fset   *token.FileSet
	faults []string
}

func (j *judge) fault(format string, args ...any) {
	j.faults = append(j.faults, fmt.Sprintf(format, args...))
}

// must holds gopls to an answer, without which there is nothing to compare.
func (j *judge) must(err error) {
	j.Helper()
	if err != nil {
		j.Fatalf("gopls gave no answer: %v", err)
	}
}

// check finds out where the tools and gopls differ on a symbol.
func (j *judge) check(s specimen) []string {
	j.faults = nil
	declared := s.at
	if s.sort == "promoted" {
		declared = j.definition(s.at)
	}
	j.describe(s, declared)
	j.references(s, declared)
	if strings.HasPrefix(j.hover(declared), "func ") {
		j.calls(s, declared)
	}
	if s.sort == "type" && !slices.Contains(s.kinds, kindGeneric) {
		j.hierarchy(s)
	}
	return j.faults
}

// definition is the one place where what is at a place is declared.
func (j *judge) definition(at spot) spot {
	j.Helper()
	found, err := j.gopls.definition(at)
	if err != nil || len(found) != 1 {
		j.Fatalf("gopls has the definitions %v of what is at %s: %v", found, at, err)
	}
	return found[0]
}

func (j *judge) hover(at spot) string {
	j.Helper()
	found, err := j.gopls.hover(at)
	j.must(err)
	return found
}

// describe compares a description with what gopls shows of the same place.
func (j *judge) describe(s specimen, declared spot) {
	got := decode[description](j, j.bench, "describe_symbol", describeIn{Symbol: s.symbol, Package: s.pkg})
	if !j.same(got.Position, declared) {
		j.fault("describe_symbol: at %s, gopls has %s", got.Position, declared)
	}
	shown := j.hover(s.at)
	switch want, have := declarationOf(shown), declarationOf(got.Signature); got.Kind {
	case "type":
		j.describedType(got, shown)
	case "const":
		j.describedConst(got, shown)
	default:
		if want != have {
			j.fault("describe_symbol: signature %q, gopls has %q", have, want)
		}
	}
}

// describedConst compares type and value. gopls names the types of untyped
// constants too, shows the source of a value with the value in a remark where
// these differ, and cuts long values.
func (j *judge) describedConst(got description, hover string) {
	head, value, _ := strings.Cut(hover, " = ")
	head, _, _ = strings.Cut(head, " untyped ")
	if have, _, _ := strings.Cut(got.Signature, " = "); declarationOf(have) != declarationOf(head) {
		j.fault("describe_symbol: signature %q, gopls has %q", have, head)
	}
	if source, remark, ok := strings.Cut(value, " // "); ok && got.Value != source {
		value = remark
	}
	if start, cut := strings.CutSuffix(value, "..."); value != got.Value && (!cut || !strings.HasPrefix(got.Value, start)) {
		j.fault("describe_symbol: value %s, gopls has %s", got.Value, value)
	}
}

// same compares a place of the tools, which do not name directories outside of
// the workspace, with one of gopls'.
func (j *judge) same(position string, s spot) bool {
	if s.inside() {
		return position == string(s)
	}
	parts := strings.Split(string(s), ":")
	return strings.HasSuffix(position, "/"+filepath.Base(parts[0])+":"+parts[1])
}

var (
	spaces      = regexp.MustCompile(`\s+`)
	qualifiers  = regexp.MustCompile(`\b[A-Za-z_]\w*\.`)
	hoverRemark = regexp.MustCompile(`\s*//.*`)
	hoverSize   = regexp.MustCompile(`size=(\d+)`)
	hoverMethod = regexp.MustCompile(`(?m)^func \([^)]*\) (\w+)[(\[]`)
)

// declarationOf makes one form of both declarations. gopls says "field" in front
// of fields, adds remarks on sizes and values, and calls a package as the file
// does that imports it, where the tools give its name.
func declarationOf(code string) string {
	code = hoverRemark.ReplaceAllString(code, "")
	code = strings.TrimPrefix(strings.TrimSpace(code), "field ")
	code = strings.Replace(code, "func (_ ", "func (", 1) // gopls shows no receiver without a name
	code = strings.ReplaceAll(code, "...", "… ")          // no qualifier
	return strings.TrimSpace(spaces.ReplaceAllString(qualifiers.ReplaceAllString(code, ""), " "))
}

// describedType compares size and methods.
func (j *judge) describedType(got description, hover string) {
	head, _, _ := strings.Cut(hover, "\n")
	if m := hoverSize.FindStringSubmatch(head); m != nil && (got.Size == nil || fmt.Sprint(*got.Size) != m[1]) {
		j.fault("describe_symbol: %s, gopls has size %s", got.Signature, m[1])
	}
	// Of a type over several lines, the first is enough.
	if want, have := strings.TrimSuffix(declarationOf(head), " {"), declarationOf(got.Signature); !strings.HasPrefix(want, have) && !strings.HasPrefix(have, want) {
		j.fault("describe_symbol: signature %q, gopls has %q", have, want)
	}
	have := names(got.Methods)
	for _, m := range hoverMethod.FindAllStringSubmatch(hover, -1) {
		if !slices.Contains(have, m[1]) {
			j.fault("describe_symbol: has no method %s, gopls has", m[1])
		}
	}
}

// references compares uses. Where they differ, gopls' own answer to where the
// name in question is declared decides:
//   - gopls adds to a method's references those of the methods that correspond to
//     it by an interface, which who_calls gives;
//   - gopls leaves out fields of generic types that other packages use;
//   - gopls lists the uses in the package that declares something, also where that
//     is not the workspace's; the tools do not search there.
func (j *judge) references(s specimen, declared spot) {
	got := decode[references](j, j.bench, "who_references", referencesIn{Variable: s.symbol, Package: s.pkg})
	if !j.same(got.Position, declared) {
		j.fault("who_references: declared at %s, gopls has %s", got.Position, declared)
	}
	ours := map[spot]bool{}
	for _, r := range got.References {
		ours[spot(r.Position)] = true
	}
	theirs, err := j.gopls.references(declared)
	j.must(err)
	for _, r := range theirs {
		if !ours[r] && r.inside() && len(got.References) == got.Total && j.definition(r) == declared {
			j.fault("who_references: lacks %s", r)
		}
	}
	for r := range ours {
		if !slices.Contains(theirs, r) && j.definition(r) != declared {
			j.fault("who_references: has %s, which is not it", r)
		}
	}
}

// calls compares calls, through interfaces too, and what they are in.
func (j *judge) calls(s specimen, declared spot) {
	got := decode[callers](j, j.bench, "who_calls", callsIn{Function: s.symbol, Package: s.pkg})
	theirs, err := j.gopls.incoming(declared)
	j.must(err)
	ours := map[spot]called{}
	for _, c := range got.Calls {
		ours[spot(c.Position)] = c
	}
	for _, c := range got.ValueUses {
		ours[spot(c.Position)] = c
	}
	for at, c := range ours {
		j.called(at, c, slices.ContainsFunc(got.Calls, func(o called) bool { return o.Position == c.Position }), theirs, declared)
	}
	if len(ours) < got.Total+got.ValueTotal {
		return // not all are listed
	}
	for at := range theirs {
		if _, ok := ours[at]; !ok && at.inside() && j.reaches(at, declared) {
			j.fault("who_calls: lacks %s in %s", at, theirs[at])
		}
	}
}

// called checks one call of ours.
func (j *judge) called(at spot, c called, isCall bool, theirs map[spot]string, declared spot) {
	if j.isCall(at) != isCall {
		j.fault("who_calls: %s is a call: %v", at, !isCall)
	}
	if from, ok := theirs[at]; ok {
		if c.Function != "" && !strings.HasSuffix(c.Function, "."+from) {
			j.fault("who_calls: %s is in %s, gopls has %s", at, c.Function, from)
		}
		return
	}
	// gopls looks for the callers by interface of the type that declares a method,
	// we for those of the types that it is promoted to as well; and gopls knows
	// interfaces of the workspace only.
	def := j.definition(at)
	if c.Via == "error.Error" && strings.HasSuffix(declarationOf(j.hover(declared)), ") Error() string") {
		return // gopls knows no implementations of what the language declares
	}
	if c.Via == "" && def != declared || c.Via != "" && def != declared && !slices.Contains(j.implementers(def), declared) {
		j.fault("who_calls: has %s via %q, which gopls does not relate", at, c.Via)
	}
}

func (j *judge) implementers(method spot) []spot {
	found, err := j.gopls.implementation(method)
	if err != nil {
		return nil // not a method, or gopls cannot tell
	}
	return found
}

// reaches reports whether a use that gopls lists as a call may call what is
// declared somewhere: it names it, or it names the method of an interface that
// it implements and the value in question can be of its type.
func (j *judge) reaches(at, declared spot) bool {
	def := j.definition(at)
	if def == declared {
		return true
	}
	if !slices.Contains(j.implementers(def), declared) || j.isAbstract(declared) {
		return false
	}
	// gopls asks for the interface that declares the method only. Where the call
	// is on a larger interface, the type has to satisfy that one.
	on, err := j.gopls.typeDefinition(j.receiverOf(at))
	if err != nil || len(on) != 1 {
		return true
	}
	return slices.ContainsFunc(j.implementers(on[0]), func(t spot) bool { return j.declares(t, declared) })
}

func (j *judge) isAbstract(declared spot) bool {
	return slices.ContainsFunc(j.census.found, func(s specimen) bool { return s.at == declared && s.sort == "abstract" })
}

// declares reports whether the type at a place has the method at another.
func (j *judge) declares(named, method spot) bool {
	var owner, of specimen
	for _, s := range j.census.found {
		switch s.at {
		case named:
			owner = s
		case method:
			of = s
		}
	}
	return owner.pkg == of.pkg && strings.HasPrefix(of.symbol, owner.symbol+".")
}

// syntax is what stands around a place, innermost first.
func (j *judge) syntax(at spot) []ast.Node {
	parts := strings.Split(string(at), ":")
	f := j.parsed[parts[0]]
	if f == nil {
		var err error
		f, err = parser.ParseFile(j.fset, filepath.Join(j.gopls.root, parts[0]), nil, parser.SkipObjectResolution)
		require.NoError(j, err)
		j.parsed[parts[0]] = f
	}
	var line, column int
	require.Must(fmt.Sscanf(parts[1]+" "+parts[2], "%d %d", &line, &column))(j)
	pos := j.fset.File(f.Pos()).LineStart(line) + token.Pos(column-1)
	path, _ := astutil.PathEnclosingInterval(f, pos, pos)
	return path
}

// isCall reports whether what is named at a place is called there.
func (j *judge) isCall(at spot) bool {
	path := j.syntax(at)
	for i := range path {
		call, ok := path[i].(*ast.CallExpr)
		if !ok {
			continue
		}
		fun := ast.Unparen(call.Fun)
		switch x := fun.(type) {
		case *ast.IndexExpr:
			fun = ast.Unparen(x.X)
		case *ast.IndexListExpr:
			fun = ast.Unparen(x.X)
		}
		if sel, ok := fun.(*ast.SelectorExpr); ok {
			fun = sel.Sel
		}
		return fun == path[0]
	}
	return false
}

// receiverOf is the place of the name in front of a selected method, whose type
// is the call's receiver; the method's own position without one.
func (j *judge) receiverOf(at spot) spot {
	path := j.syntax(at)
	if len(path) < 2 {
		return at
	}
	sel, ok := path[1].(*ast.SelectorExpr)
	if !ok {
		return at
	}
	x := ast.Unparen(sel.X)
	if inner, ok := x.(*ast.SelectorExpr); ok {
		x = inner.Sel
	}
	if _, ok := x.(*ast.Ident); !ok {
		return at
	}
	p := j.fset.PositionFor(x.Pos(), false)
	return spot(fmt.Sprintf("%s:%d:%d", strings.Split(string(at), ":")[0], p.Line, p.Column))
}

// hierarchy compares the types that implement an interface, and the interfaces
// that a type satisfies. gopls knows types of functions too.
func (j *judge) hierarchy(s specimen) {
	got := decode[hierarchy](j, j.bench, "class_hierarchy", hierarchyIn{Class: s.symbol, Package: s.pkg})
	theirs := map[string]bool{}
	for _, at := range j.implementers(s.at) {
		if j.declaresType(at) {
			theirs[string(at)] = true
		}
	}
	ours := map[string]bool{}
	for _, r := range append(got.ImplementedBy, got.Satisfies...) {
		ours[r.Position] = true
		if r.Kind != "interface" && !theirs[r.Position] && j.declaresType(spot(r.Position)) {
			j.fault("class_hierarchy: has %s at %s, gopls has not", r.Name, r.Position)
		}
	}
	for at := range theirs {
		if !ours[at] {
			j.fault("class_hierarchy: lacks the type at %s", at)
		}
	}
}

func (j *judge) declaresType(at spot) bool {
	return slices.ContainsFunc(j.census.found, func(s specimen) bool {
		return s.at == at && s.sort == "type" && !slices.Contains(s.kinds, kindGeneric)
	})
}
