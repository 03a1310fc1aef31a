package main

import (
	"context"
	"go/types"
	"sync"
	"sync/atomic"
)

// round is a piece of type-checking that knows what earlier rounds found out.
// There is one at a time; it works on many packages at once.
type round struct {
	*workspace
	vs     *variants
	listed map[string]file
	files  files
	keys   keys

	mu    sync.Mutex
	tasks map[string]*task
}

// task is the work on one variant.
type task struct {
	part
	stamping, outlining sync.Once
	err                 error // of the outline
}

// round begins one. It waits for the one before.
func (v *view) round(ctx context.Context) (*round, error) {
	r := &round{
		workspace: v.workspace, vs: v.graph.variants, listed: v.sourceFiles(), tasks: map[string]*task{},
	}
	key := v.worldStamp()
	p := &v.programs
	p.mu.Lock()
	outside := r.vs.outside()
	if p.world == nil || p.world.key != key || p.world.full() || p.world.grown(outside) {
		p.world, p.parts = newWorld(key), map[string]part{}
	}
	r.files = files{fset: p.world.fset, parsed: map[string]*parsed{}}
	err := ctx.Err()
	if err == nil {
		err = p.world.find(ctx, v.workspace, outside)
	}
	if err != nil {
		p.mu.Unlock()
		return nil, err
	}
	p.world.load(outside)
	return r, nil
}

// end keeps what was found out and lets the next round begin.
func (r *round) end() {
	p := &r.programs
	for id := range p.parts {
		if r.vs.all[id] == nil {
			delete(p.parts, id)
		}
	}
	for id, t := range r.tasks {
		p.parts[id] = t.part
	}
	p.mu.Unlock()
}

// program makes all indexes, side by side.
func (r *round) program(ctx context.Context, now stamp) (*program, error) {
	out := &program{key: now, indexes: make([]*index, len(r.vs.searched))}
	errs := make([]error, len(r.vs.searched))
	var wg sync.WaitGroup
	for i, id := range r.vs.searched {
		wg.Go(func() { out.indexes[i], errs[i] = r.indexed(ctx, r.vs.all[id]) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

var serials atomic.Int64

// task is a variant's, with what still holds of what was known before.
func (r *round) task(n *variant) *task {
	r.mu.Lock()
	t := r.tasks[n.id]
	if t == nil {
		t = &task{}
		r.tasks[n.id] = t
	}
	r.mu.Unlock()
	t.stamping.Do(func() {
		t.outline, t.content = r.stamps(n)
		old := r.programs.parts[n.id]
		if old.outline == t.outline {
			t.pkg, t.serial = old.pkg, old.serial
		} else {
			t.serial = serials.Add(1)
		}
		if old.content == t.content {
			t.index = old.index
		}
	})
	return t
}

// stamps sums up what decides about a variant's outline and its index. What it
// imports counts by serial: where an edit was taken back, the outline is a new
// one all the same, whose types are not those of the one before.
func (r *round) stamps(n *variant) (outline, content stamp) {
	below := newStamper()
	below.text(n.goVersion)
	for _, path := range sortedKeys(n.imports) {
		below.text(path)
		if imported := r.vs.all[n.imports[path]]; imported.source {
			below.number(r.task(imported).serial)
		}
	}
	base := below.stamp()
	outer, inner := newStamper(), newStamper()
	outer.Write(base[:])
	inner.Write(base[:])
	for _, path := range n.files {
		f := r.listed[path]
		sum := r.programs.outlines.of(f, func() stamp { return r.files.get(path).outline })
		outer.text(path)
		outer.Write(sum[:])
		inner.files([]file{f})
	}
	return outer.stamp(), inner.stamp()
}

// imported is what an import of a variant gives.
func (r *round) imported(ctx context.Context, id string) (*types.Package, error) {
	n := r.vs.all[id]
	if !n.source {
		return r.programs.world.pkg(n.path)
	}
	t := r.task(n)
	t.outlining.Do(func() {
		if t.pkg != nil {
			return
		}
		c, err := r.check(ctx, n, true)
		if err != nil {
			t.err = err
			return
		}
		t.pkg = c.pkg
	})
	return t.pkg, t.err
}

// indexed is a variant's index. It is asked for once a variant.
func (r *round) indexed(ctx context.Context, n *variant) (*index, error) {
	t := r.task(n)
	if t.index != nil {
		return t.index, nil
	}
	var err error
	t.index, err = r.index(ctx, n)
	return t.index, err
}

// outlines remembers, for files, what stands for them without the bodies of
// functions. It is safe for concurrent use.
type outlines struct {
	mu    sync.Mutex
	known map[string]outlined
}

type outlined struct {
	file  file
	stamp stamp
}

func (o *outlines) of(f file, read func() stamp) stamp {
	o.mu.Lock()
	known, ok := o.known[f.path]
	o.mu.Unlock()
	if ok && known.file == f && f.path != "" {
		return known.stamp
	}
	sum := read()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known == nil {
		o.known = map[string]outlined{}
	}
	o.known[f.path] = outlined{f, sum}
	return sum
}
