package control

import "time"

// Patient has a server wait for clients longer than a test takes, so that one that does not have to wait
// is told from one that does without a clock.
func (s *Server) Patient() {
	s.http.ReadHeaderTimeout, s.http.IdleTimeout, s.endTimeout = time.Hour, time.Hour, time.Hour
}
