package audit

import (
	"context"
	"path/filepath"
)

// Verify checks the chain through all files of a log: that each line is as it
// was written, behind the line that it was written behind. The package's comment
// says what that shows and what not.
//
// # Errors
//
// [fs.ErrNotExist] where there is no log; the context's, where it ends. A break is not
// an error but in the report.
func Verify(ctx context.Context, path string) (Report, error) {
	s, err := openSnapshot(ctx, path)
	if err != nil {
		return Report{Path: path, Breaks: []Break{}}, err
	}
	defer s.close()
	v := verifier{report: Report{Path: s.path, Files: len(s.parts), Breaks: []Break{}}}
	for i := range s.parts {
		p := &s.parts[i]
		v.absent = absentBefore(s, i)
		for lines := p.lines(ctx); ; {
			l, err := lines.next()
			if err != nil {
				return v.report, failed(p.path, "read", err)
			}
			if l == nil {
				break
			}
			v.read(place{p.path, l.number}, l)
			v.absent = ""
		}
	}
	v.end()
	return v.report, nil
}

// absentBefore names the first file that should be between this part and the
// one before it.
func absentBefore(s *snapshot, i int) string {
	if i == 0 || s.parts[i].number == 0 || s.parts[i].number == s.parts[i-1].number+1 {
		return ""
	}
	return filepath.Base(rotatedPath(s.path, s.parts[i-1].number+1))
}
